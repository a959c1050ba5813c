#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace kdl {

/// Waits until one of the descriptors can be read. Returns its position, or nothing after the time.
std::optional<size_t> WaitForInput(std::span<const int> descriptors, int milliseconds);

/// Reads the bytes that are available and appends them to `text`. Returns false at the end of the input.
bool ReadAvailable(int descriptor, std::string& text);

/// Work in a copy of this process, which computes a text. The work can be given up at any time, and an internal error
/// in it does not end this process. Only for processes with a single thread.
class BackgroundWork {
 public:
  /// Returns null if the system cannot start a process.
  static std::unique_ptr<BackgroundWork> Start(const std::function<std::string()>& work);
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;
  /// Ends the work if it has not ended.
  ~BackgroundWork();

  int descriptor() const { return descriptor_; }
  /// Reads what the work has computed so far. Returns whether it has ended.
  bool Read() { return !ReadAvailable(descriptor_, text_); }
  const std::string& text() const { return text_; }

 private:
  BackgroundWork(int process, int descriptor) : process_(process), descriptor_(descriptor) {}

  int process_;
  int descriptor_;
  std::string text_;
};

}  // namespace kdl
