#include "passes/fusion/apart_tensors.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "ir/lookup.h"
#include "ir/views.h"

namespace kdl::passes {

namespace {

/// A slice whose indices are constants: `lo` to `end` - 1 of a dimension of a tensor.
struct ConstantSlice {
  const Value* tensor;
  int64_t dimension;
  int64_t lo;
  int64_t end;
};

std::optional<ConstantSlice> ConstantSliceOf(const Value* value) {
  auto slice = ir::DynAs<ir::SliceOp>(value->def());
  std::optional<int64_t> lo = slice ? ir::ConstantOf(slice->lo()) : std::nullopt;
  if (!lo || *lo == INT64_MAX) return std::nullopt;
  std::optional<int64_t> end = slice->hi() ? ir::ConstantOf(slice->hi()) : *lo + 1;
  if (!end) return std::nullopt;
  auto dimension = (*slice)->attr<AttrKey::Dimension>();
  return ConstantSlice{slice->tensor(), dimension, *lo, *end};
}

bool HaveOtherIndices(const Value* a, const Value* b) {
  std::optional<ConstantSlice> first = ConstantSliceOf(a);
  std::optional<ConstantSlice> second = ConstantSliceOf(b);
  return first && second && first->tensor == second->tensor &&
         first->dimension == second->dimension &&
         (first->end <= second->lo || second->end <= first->lo);
}

/// Returns whether `check` is always executed before the op.
bool IsBefore(const Op* check, const Op* op) {
  op = ir::AncestorIn(check->parent_region(), op);
  while (op && op != check) op = op->prev();
  return op == check;
}

bool IsChecked(const Value* a, const Value* b, const Op* op) {
  return std::ranges::any_of(a->uses(), [&](const ir::Use& use) {
    if (use.user->kind() != OpKind::Apart || !IsBefore(use.user, op)) return false;
    ir::ApartOp apart(use.user);
    return (apart.a() == a && apart.b() == b) || (apart.a() == b && apart.b() == a);
  });
}

}  // namespace

bool AreKnownApart(const Value* a, const Value* b, const Op* op) {
  return HaveOtherIndices(a, b) || IsChecked(a, b, op);
}

}  // namespace kdl::passes
