#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/result.h"

namespace kdl {

/// A program to run. The words are passed to it directly, not through a shell.
struct ProcessRequest {
  /// The name of the program and its arguments. The name is looked up in PATH unless it contains a slash.
  std::vector<std::string> words;
  std::string folder;  ///< the program's working directory; empty for the current one
  std::vector<std::string> environment;  ///< `NAME=value`, added to the environment of this process
  double deadline_s = 600;
};

/// How a process ended and what it wrote. The process had an empty standard input.
struct ProcessResult {
  int exit_code = 0;       ///< set if the process exited by itself
  int signal = 0;          ///< set if a signal ended the process
  bool timed_out = false;  ///< whether it was killed at the deadline, along with its children
  std::string out;
  std::string err;

  bool ok() const { return exit_code == 0 && signal == 0 && !timed_out; }
};

/// Runs a program until it exits or the deadline passes. Fails if the program cannot be started. If the
/// program is kernelc, it is also killed when this process exits, for any reason.
Result<ProcessResult> RunProcess(const ProcessRequest& request);

/// Must be called when kernelc, or a program that it has made, starts. If this process was started by another
/// kernelc, arranges for it to be killed when that kernelc exits. Also ensures that this process can read the
/// exit statuses of its children, regardless of inherited signal settings, that a file that would be too large
/// is reported as an error, and that writing to a standard stream that is closed fails.
void BeginProcess();

/// Returns text such as `exited with code 2`, `was killed by signal 11 (Segmentation fault)` or `did not
/// end within 600 s`.
std::string DescribeEnd(const ProcessResult& result, const ProcessRequest& request);

/// Returns the path of the first of `names` that is an executable program, or an empty string if none is. A
/// name without a slash is looked up in PATH.
std::string FindProgram(const std::vector<std::string>& names);

}  // namespace kdl
