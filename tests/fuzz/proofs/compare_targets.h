#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kdl::fuzz {

struct Comparison {
  std::string what;      ///< the first difference; empty if there is none
  int64_t runs = 0;      ///< number of runs of compiled code
  int64_t refusals = 0;  ///< number of runs that a check ended, as in the interpreter
};

/// Compiles a kernel that the proofs accept for all `targets` (device specs as for --target). Runs the kernel
/// on each target for several sizes, inputs and numbers of cores. Outputs must have the same bits as in the
/// interpreter, unless the language leaves them unspecified. If a check ends a run in the interpreter, a
/// check must also end the run on the target.
Comparison CompareTargets(const std::string& text, uint64_t seed,
                          const std::vector<std::string>& targets);

}  // namespace kdl::fuzz
