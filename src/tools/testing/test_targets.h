#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/options.h"
#include "targets/registry.h"

namespace kdl::tools {

/// A target of a test, and the numbers of cores to run on. No number means as many as the device
/// chooses.
struct TestTarget {
  std::string spec;
  std::vector<std::optional<int64_t>> cores;
  double most_terms = 0;  ///< skip shapes whose contracts have more terms; 0 if there is no limit
};

/// Returns the targets of the options, or else all that are available: the host, which is tested
/// most thoroughly, the lower levels of its processor, the debug device and the interpreter.
std::vector<TestTarget> TestTargets(const driver::Options& options,
                                    const targets::Registry& families);

std::vector<std::string> TargetSpecs(const std::vector<TestTarget>& targets);

}  // namespace kdl::tools
