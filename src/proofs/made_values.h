#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ir/module.h"
#include "proofs/names.h"

namespace kdl::proofs {

// Functions that derive facts about a value from the op that computes it.

/// The values of size names and int generics.
using Sizes = std::map<Name, int64_t>;

/// Returns the bits of a scalar that is computed from constants and known sizes only; nothing if it depends
/// on anything else or has no value.
std::optional<uint64_t> ConstantBits(const ir::Value* value, const Sizes& known = {});

/// If a value is loaded from a table of integers, returns the elements of the table. Returns nothing if the
/// value comes from elsewhere, or may be the `else` value of the load.
std::optional<std::vector<int64_t>> TableValues(const ir::Value* value);

/// The number of iterations of a loop from `lo` (inclusive) to `hi` (exclusive): max(0, floor((hi - lo - 1) /
/// step) + 1) if `step` is at least 1. The ops may also come from user code, in which `step` may be less than
/// 1.
struct Steps {
  const ir::Value* lo;
  const ir::Value* hi;
  const ir::Value* step;
};
/// Matches the ops that irgen generates for the number of iterations. They compute it in u64, under the
/// assumption that lo < hi. The last op, `select`, replaces it by 0 if that is not the case. Returns nothing
/// for other ops.
std::optional<Steps> MatchSteps(const ir::Op* select);

}  // namespace kdl::proofs
