#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kdl::fuzz {

struct Comparison {
  std::string what;  ///< the first difference; empty if there is none
  int64_t runs = 0;  ///< runs of compiled code
  int64_t refusals =
      0;  ///< runs ended by a check, as the interpreter's run of the same arguments was
};

/// Compiles a kernel that the proofs accept for all targets, which are device specs as for --target. Runs
/// each for several sizes, inputs and numbers of cores. Outputs must have the interpreter's bits, unless the
/// language leaves them open. A run that a check ends in the interpreter must be ended by a check here.
Comparison CompareTargets(const std::string& text, uint64_t seed,
                          const std::vector<std::string>& targets);

}  // namespace kdl::fuzz
