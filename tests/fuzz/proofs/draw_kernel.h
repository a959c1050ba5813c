#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace kdl::fuzz {

/// A kernel that asks proofs for what they find hard.
struct DrawnKernel {
  std::string text;
  std::set<std::string> features;  ///< what it is made of, for the counts
};

/// The same for the same seed. Its size names are N and M, its tensors f32 and i32, its scalars i64.
DrawnKernel DrawKernel(uint64_t seed);

}  // namespace kdl::fuzz
