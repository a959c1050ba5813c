#pragma once

#include <string>

#include "driver/options.h"
#include "tools/suite/suite_file.h"
#include "tools/suite/suite_row.h"

namespace kdl::tools {

/// How the problems of a suite run.
struct SuiteSettings {
  const driver::Options& options;
  std::string kernelc = {};  ///< path of this program
  std::string python = {};   ///< empty if there is none
  std::string target = {};
  int threads = 0;     ///< number of threads on the host; 0 for other devices
  bool times = false;  ///< whether to measure
};

/// Returns a row that has only its key: the problem, its sizes, the target, the number of threads, and the options that
/// determine its code and arguments.
SuiteRow KeyOf(const SuiteProblem& problem, const SuiteSettings& settings);

/// Draws the arguments of the problem, runs it, compares the results with those of its peer, tries the
/// controls, and measures the baselines. Whatever fails is in the row.
SuiteRow RunProblem(const Suite& suite, const SuiteProblem& problem, const SuiteSettings& settings);

}  // namespace kdl::tools
