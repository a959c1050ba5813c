#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/options.h"
#include "targets/registry.h"

namespace kdl::tools {

/// A target of a test, and the numbers of cores to run on. If a number is not set, the device
/// chooses the number of cores.
struct TestTarget {
  std::string spec;
  std::vector<std::optional<int64_t>> cores;
  double most_terms = 0;  ///< skips shapes whose contracts have more terms; 0 if there is no limit
};

/// Returns the targets in the options. If there are none, returns all available targets: the host,
/// which is tested most thoroughly, the lower levels of its processor, the debug device, and the
/// interpreter.
std::vector<TestTarget> TestTargets(const driver::Options& options,
                                    const targets::Registry& families);

/// Whether the word of a command line is a target of this machine, possibly after `--target=`, with instructions that its
/// processor lacks. May be called by several threads.
bool LacksProcessor(std::string_view word, const targets::Registry& families);

std::vector<std::string> TargetSpecs(const std::vector<TestTarget>& targets);

}  // namespace kdl::tools
