#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/result.h"

namespace kdl {

/// A program to run: no shell reads the words.
struct ProcessRequest {
  std::vector<std::string>
      words;           ///< the program, looked up on PATH where it has no slash, and its arguments
  std::string folder;  ///< where it runs; empty: here
  std::vector<std::string> environment;  ///< `NAME=value`, added to ours
  double deadline_s = 600;
};

/// How it ended and what it wrote. Standard input was empty.
struct ProcessResult {
  int exit_code = 0;       ///< where it ended by itself
  int signal = 0;          ///< where a signal ended it
  bool timed_out = false;  ///< it was stopped, with all that it had started
  std::string out;
  std::string err;

  bool ok() const { return exit_code == 0 && signal == 0 && !timed_out; }
};

/// Runs it to its end, or to the deadline. A Failure where it cannot be started. Where the program is kernelc, it ends when
/// this process does, however that ends.
Result<ProcessResult> RunProcess(const ProcessRequest& request);

/// To be called where kernelc starts: it ends with the process of it that has started it, if one has, and is told how those end
/// that it starts, whatever it has been started with.
void BeginProcess();

/// `exited with code 2`, `was ended by signal 11 (Segmentation fault)`, `did not end within 600 s`.
std::string DescribeEnd(const ProcessResult& result, const ProcessRequest& request);

/// The first of the names that is a program, on PATH where it has no slash; empty: none.
std::string FindProgram(const std::vector<std::string>& names);

}  // namespace kdl
