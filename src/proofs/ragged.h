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
/// Examples are off[e] .. off[e + 1], first[e] .. first[e] + length[e], and first[e] .. last[e]. If each part
/// ends where the next one begins, or before, the parts of different blocks are disjoint. If each ends
/// exactly there, they cover everything from the beginning of the first one to the end of the last one.
struct Ragged : Parts {
  Poly lower{};                 ///< the first index of the part
  Poly upper{};                 ///< the end of the part (exclusive)
  std::optional<Size> whole{};  ///< set if the parts together cover 0 to this size
};

/// Returns the loops of this form in a kernel, outside of stages, always in the same order.
std::vector<Ragged> RaggedOf(const ir::Function& kernel, Terms& terms);

/// Returns the indices of the entries whose spmd accesses a memory.
std::vector<size_t> PartsAround(const std::vector<Ragged>& ragged, const ir::Value* memory);

/// Returns as few of the items as suffice to make `holds` true, but at least one; nothing if it is false even
/// for all of them.
std::optional<std::vector<size_t>> FewestOf(
    const std::vector<size_t>& all, const std::function<bool(const std::vector<size_t>&)>& holds);

}  // namespace kdl::proofs
