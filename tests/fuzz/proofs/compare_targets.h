#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kdl::fuzz {

struct Comparison {
  std::string what;  ///< the first difference; empty: there is none
  int64_t runs = 0;  ///< of compiled code
  int64_t refusals =
      0;  ///< of these, ended by a check, as the interpreter's run of the same arguments was
};

/// Compiles a kernel that the proofs accept for all targets, device specs as --target takes them, and runs each for several
/// sizes, inputs and numbers of cores. Outputs equal the interpreter's bit for bit, but for those that the language leaves open;
/// what a check refuses there, a check refuses here.
Comparison CompareTargets(const std::string& text, uint64_t seed,
                          const std::vector<std::string>& targets);

}  // namespace kdl::fuzz
