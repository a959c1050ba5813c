#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace kdl::fuzz {

/// A kernel that asks proofs for what they find hard.
struct DrawnKernel {
  std::string text;
  std::set<std::string> features;  ///< what it is made of, for the counts
  std::optional<unsigned long>
      steps{};  ///< that a question of the proofs may take, where these are few
  bool cores_agree =
      false;  ///< nothing in it speaks of core_num: all numbers of cores leave the same
};

/// The same for the same seed. Its size names are N and M, its tensors f32 and i32, its scalars i64.
DrawnKernel DrawKernel(uint64_t seed);

}  // namespace kdl::fuzz
