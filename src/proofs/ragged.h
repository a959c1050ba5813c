#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/module.h"
#include "proofs/proofs.h"
#include "proofs/terms.h"

namespace kdl::proofs {

/// Parts of a dimension, with bounds that the proofs can reason about:
///
///   spmd (%e: i64 in lo .. hi) { … for %r in from(%e) .. to(%e) { … } }
///
/// Examples are off[e] .. off[e + 1], first[e] .. first[e] + length[e], and first[e] .. last[e]. The begin can also be
/// in the index of an access, as in x[first[e] + r] for r in 0 .. length[e]. If no part
/// ends after the beginning of the next part, the parts of different blocks are disjoint. If each part ends
/// exactly where the next one begins, together they cover everything from the beginning of the first part to
/// the end of the last.
struct Ragged : Parts {
  Poly lower{};                 ///< the first index of the part
  Poly upper{};                 ///< the end of the part (exclusive)
  std::optional<Size> whole{};  ///< set if the parts together cover 0 to this size
};

/// Returns whether two spmds with the same numbers of blocks assign equal parts to blocks with equal numbers.
bool AreEqualParts(const Parts& a, const Parts& b);

/// Returns all loops in a kernel, outside of stages, that iterate over such parts; always in the same order.
std::vector<Ragged> RaggedOf(const ir::Function& kernel, Terms& terms);

/// Returns the index of the parts that contain the numbers of these parts, if these are parts of parts.
std::optional<size_t> PartsOfNumbers(const std::vector<Ragged>& ragged, const Ragged& part);

/// Returns the indices of the entries whose spmd accesses a memory.
std::vector<size_t> PartsAround(const std::vector<Ragged>& ragged, const ir::Value* memory);

/// Drops items while `holds` is true for the remaining ones, and returns the items that are left (at least
/// one). Returns nothing if `holds` is false even for the full list.
std::optional<std::vector<size_t>> FewestOf(
    const std::vector<size_t>& all, const std::function<bool(const std::vector<size_t>&)>& holds);

}  // namespace kdl::proofs
