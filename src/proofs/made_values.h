#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ir/module.h"
#include "proofs/names.h"

namespace kdl::proofs {

// What is known of a value by what makes it.

/// Values of size names and int generics.
using Sizes = std::map<Name, int64_t>;

/// The bits of a scalar that is made of constants, and of sizes that are known; nothing where it is made of more, or has no
/// value.
std::optional<uint64_t> ConstantBits(const ir::Value* value, const Sizes& known = {});

/// The elements of the table of integers that a value has been loaded from; nothing where it has another source, or may be
/// what an `else` gives.
std::optional<std::vector<int64_t>> TableValues(const ir::Value* value);

/// The number of turns from `lo` on, below `hi`, every `step`: max(0, floor((hi - lo - 1) / step) + 1) where `step` is at
/// least 1. A source may write the same ops with another step.
struct Steps {
  const ir::Value* lo;
  const ir::Value* hi;
  const ir::Value* step;
};
/// What irgen writes for it, in u64 where lo < hi, ends with this select; nothing: it does not.
std::optional<Steps> StepsOf(const ir::Op* select);

}  // namespace kdl::proofs
