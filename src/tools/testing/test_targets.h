#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/options.h"
#include "targets/registry.h"

namespace kdl::tools {

/// A target of a test, and on how many cores it runs; nothing: as many as the device likes.
struct TestTarget {
  std::string spec;
  std::vector<std::optional<int64_t>> cores;
  double most_terms = 0;  ///< a shape whose contract has more terms is left out; 0: none is
};

/// Those that the options name, else all that are there: the host, tried hardest; the lower levels of its processor, the
/// debug device and the interpreter.
std::vector<TestTarget> TestTargets(const driver::Options& options,
                                    const targets::Registry& families);

std::vector<std::string> SpecsOf(const std::vector<TestTarget>& targets);

}  // namespace kdl::tools
