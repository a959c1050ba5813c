#include "targets/cpu/analysis/own_elements.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "proofs/proofs.h"

namespace kdl::cpu {

namespace {

using ir::Effect;
using proofs::AccessView;

/// An access in a loop, together with the loop's binder (its induction variable).
struct Touch {
  AccessView view;
  const ir::Value* binder;
};

/// Represents the index `times` * i + `offset`, where i is an index in the binder's range.
struct OwnPlace {
  int64_t times;
  int64_t offset;
};

/// Returns the index in a dimension if it depends only on the binder's index.
std::optional<OwnPlace> PlaceIn(const Touch& touch, size_t dim) {
  ir::Access access = touch.view.access();
  const ir::AccessDim& index = access.dims[dim];
  bool is_alone = index.terms.size() == 1 &&
                  touch.view.index[index.terms[0].operand] == touch.binder &&
                  IsConstant(index.terms[0].coefficient) && IsConstant(index.offset);
  if (!is_alone) return std::nullopt;
  return OwnPlace{index.terms[0].coefficient->value, index.offset->value};
}

/// Whether the accesses of different indices always differ in this dimension. For example, index i accesses
/// only elements 2i and 2i+1, and index i+1 accesses only elements 2i+2 and 2i+3.
bool AreApartIn(const std::vector<Touch>& touches, size_t dim) {
  std::optional<OwnPlace> first = PlaceIn(touches[0], dim);
  if (!first || first->times < 1) return false;
  return std::ranges::all_of(touches, [&](const Touch& touch) {
    std::optional<OwnPlace> place = PlaceIn(touch, dim);
    return place && place->times == first->times &&
           FloorDivide(place->offset, first->times) == FloorDivide(first->offset, first->times);
  });
}

/// Whether the only access is a store that writes each element once.
bool IsOneStore(const std::vector<Touch>& touches) {
  const ir::Op* store = touches[0].view.op;
  return touches.size() == 1 && touches[0].view.effect == Effect::Write &&
         proofs::LoopOf(store->parent_region()->parent()) ==
             touches[0].binder->parent_region()->parent();
}

bool AreApart(const std::vector<Touch>& touches) {
  auto all = [&](Effect effect) {
    return std::ranges::all_of(touches, [&](const Touch& t) { return t.view.effect == effect; });
  };
  if (all(Effect::Read) || all(Effect::Accumulate) || IsOneStore(touches)) return true;
  bool of_one_tensor = std::ranges::all_of(
      touches, [&](const Touch& touch) { return touch.view.tensor == touches[0].view.tensor; });
  for (size_t d = 0; of_one_tensor && d < touches[0].view.rank(); ++d) {
    if (AreApartIn(touches, d)) return true;
  }
  return false;
}

}  // namespace

bool HaveOwnElements(const std::vector<const ir::Value*>& binders) {
  std::map<const ir::Value*, std::vector<Touch>> by_memory;
  for (const ir::Value* binder : binders) {
    for (const AccessView& view : proofs::AccessesIn(binder->parent_region()))
      by_memory[ir::MemoryOf(view.tensor)].push_back({view, binder});
  }
  return std::ranges::all_of(by_memory, [](const auto& entry) { return AreApart(entry.second); });
}

}  // namespace kdl::cpu
