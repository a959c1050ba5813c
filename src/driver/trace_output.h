#pragma once

#include <optional>
#include <string>

#include "support/diagnostics.h"
#include "support/io.h"

namespace kdl::driver {

/// The file that KDL_TRACE names, as an output of the command. While this object exists, the contexts of this process and of its
/// children write their traces to a temporary file. At most one object can exist.
class TraceOutput {
 public:
  TraceOutput();
  ~TraceOutput();
  TraceOutput(const TraceOutput&) = delete;
  TraceOutput& operator=(const TraceOutput&) = delete;

  /// Writes the trace, if there is one. Reports an error if it cannot be written, or if its file is an input or another output.
  void Write(DiagnosticEngine& diagnostics);

 private:
  friend bool MayWriteTrace(DiagnosticEngine& diagnostics);
  bool MayWrite(DiagnosticEngine& diagnostics);

  std::string path_;  ///< empty if KDL_TRACE names no file
  std::optional<Result<TemporaryFolder>> folder_;
  bool is_checked_ = false;
};

/// Returns whether the trace that a context of this process would write may replace its file. Reports an error if not.
bool MayWriteTrace(DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
