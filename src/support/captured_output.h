#pragma once

#include <string>

namespace kdl {

/// While one exists, whatever the process writes to standard output goes to a file without a name. If that file cannot
/// be made, nothing is captured.
class CapturedOutput {
 public:
  CapturedOutput();
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;
  ~CapturedOutput();

  /// Returns what has been written.
  std::string Text() const;

 private:
  int file_ = -1;
  int before_ = -1;
};

}  // namespace kdl
