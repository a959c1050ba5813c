#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace kdl::fuzz {

/// A kernel that is hard for the proofs.
struct DrawnKernel {
  std::string text;
  std::set<std::string> features;        ///< the names of its parts, for statistics
  std::optional<unsigned long> steps{};  ///< limit on the steps of each proof, in some kernels
  bool cores_agree = false;  ///< core_num is not used: all numbers of cores give the same result
};

/// Generates a kernel that depends only on the seed. Its sizes are named N and M, its tensors are f32 and
/// i32, and its scalars are i64.
DrawnKernel DrawKernel(uint64_t seed);

}  // namespace kdl::fuzz
