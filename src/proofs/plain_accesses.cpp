#include "proofs/plain_accesses.h"

#include <algorithm>

#include "ir/lookup.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"

namespace kdl::proofs {

namespace {

/// Returns all accesses to a memory, or an empty list if they are not all accesses to one tensor or view.
std::vector<AccessView> PlainAccessesOf(const Value* memory) {
  std::vector<AccessView> views;
  for (Op* op : ir::UsersOfMemory(memory)) {
    std::optional<AccessView> view = FindAccess(op);
    if (!view || view->is_partial()) return {};
    views.push_back(*view);
    if (views[0].tensor != view->tensor) return {};
  }
  return views;
}

}  // namespace

bool IsWhole(const Value* range, Size dim, Terms& terms) {
  auto made = ir::DynAs<ir::MakeBlockOp>(range->def());
  bool is_binder = !range->def() && range->type()->kind == ir::TypeKind::Block && LoopEndsOf(range);
  if (!made && !is_binder) return false;
  Poly size = terms.PolyOfSize(dim);
  Poly from = terms.PolyOfValue(made ? made->start() : LoopEndsOf(range)->lo);
  Poly length = terms.PolyOfValue(made ? made->size() : LoopEndsOf(range)->hi);
  return size.exact() && from == Poly(0) && length == size;
}

namespace {

bool WritesAll(const AccessView& view, Terms& terms) {
  if (view.effect != ir::Effect::Write || view.is_partial() || view.mask) return false;
  std::vector<const Value*> ranges;
  for (size_t d = 0; d < view.rank(); ++d) {
    const Value* range = view.plain_index(d);
    bool is_new = range && !Contains(ranges, range);
    if (!is_new || !IsWhole(range, view.tensor->type()->dims[d], terms)) return false;
    ranges.push_back(range);
  }
  for (const Op* op = view.op->parent_region()->parent(); op; op = op->parent_region()->parent()) {
    bool walks = op->kind() == OpKind::Spmd || op->kind() == OpKind::For;
    if (!walks || op->HasAttr(AttrKey::Breaks)) return false;
    for (const Value* param : op->region()->params()) {
      if (LoopEndsOf(param) && !Contains(ranges, param)) return false;
    }
  }
  return true;
}

}  // namespace

bool IsDistributedPlainly(const Value* memory) {
  std::vector<AccessView> views = PlainAccessesOf(memory);
  const Op* walk = views.empty() ? nullptr : Around(views[0].op, OpKind::Spmd);
  if (!walk || walk->parent_region()->parent()) return false;
  bool together = std::ranges::all_of(
      views, [&](const AccessView& v) { return Around(v.op, OpKind::Spmd) == walk; });
  return together && std::ranges::all_of(walk->region()->params(), [&](const Value* binder) {
           return AreAtBinder(views, binder);
         });
}

bool IsOncePlainly(const AccessView& view) {
  return std::ranges::all_of(view.axes(), [&](ir::AxisId axis) {
    const Value* block = ir::FindBlock(view.op, axis);
    for (size_t d = 0; d < view.rank(); ++d) {
      if (view.plain_index(d) == block) return true;
    }
    return false;
  });
}

bool IsWrittenPlainly(const Value* memory, Terms& terms) {
  return std::ranges::any_of(AccessesOf(memory), [&](const AccessView& view) {
    return view.tensor == memory && WritesAll(view, terms);
  });
}

}  // namespace kdl::proofs
