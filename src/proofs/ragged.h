#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/module.h"
#include "proofs/proofs.h"
#include "proofs/terms.h"

namespace kdl::proofs {

/// Parts, with what proofs know of them:
///
///   spmd (%e: i64 in lo .. hi) { … for %r in from(%e) .. to(%e) { … } }
///
/// as off[e] .. off[e + 1] does, first[e] .. first[e] + length[e], or first[e] .. last[e]. Where each part ends where the next
/// one begins, or before, the parts of different blocks are apart. Where each ends exactly there, they are together all from
/// the first one's beginning to the last one's end.
struct Ragged : Parts {
  Poly lower{};  ///< what the part goes from and to
  Poly upper{};
  std::optional<Size> whole{};  ///< set where the parts together are all from 0 to this
};

/// The walks of a kernel that are so, outside of stages, always in the same order.
std::vector<Ragged> RaggedOf(const ir::Function& kernel, Terms& terms);

/// Those, by their places in the list, in whose walks something touches a memory.
std::vector<size_t> PartsAround(const std::vector<Ragged>& ragged, const ir::Value* memory);

/// As few of these as `holds` needs, one at least; nothing where it does not even hold of all.
std::optional<std::vector<size_t>> FewestOf(
    const std::vector<size_t>& all, const std::function<bool(const std::vector<size_t>&)>& holds);

}  // namespace kdl::proofs
