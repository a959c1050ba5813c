#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace kdl::fuzz {

/// A kernel that is hard for the proofs.
struct DrawnKernel {
  std::string text;
  std::set<std::string> features;        ///< its parts, for counting
  std::optional<unsigned long> steps{};  ///< limit for each question to the proofs, in some kernels
  bool cores_agree =
      false;  ///< it does not use core_num: the result is the same for all numbers of cores
};

/// Draws a kernel that depends only on the seed. Its sizes are named N and M, its tensors are f32 and i32,
/// its scalars i64.
DrawnKernel DrawKernel(uint64_t seed);

}  // namespace kdl::fuzz
