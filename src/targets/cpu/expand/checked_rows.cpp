#include <algorithm>

#include "ir/op_info.h"
#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/elementwise_body.h"

// If an access along a row may be out of bounds, its indices are checked once for the whole row:
//
//   if the first and the last index, and those of the other dimensions, are in bounds: the row, without checks
//   else: the row, with checks, which report the first index that is out of bounds

namespace kdl::cpu {

namespace {

/// Whether the index varies along the row.
bool VariesAlongRow(const ElementwiseLoopBody& body, const Value* index) {
  return index == body.elementwise()->region()->params().back();
}

/// Whether the index is known at the start of a row or is the index of the last axis.
bool IsKnownAtStart(const ElementwiseLoopBody& body, const Value* index) {
  if (VariesAlongRow(body, index)) return true;
  const Op* def = index->def();
  bool in_body = def && def->parent_region() == body.elementwise()->region();
  return body.last().IsUniform(index) && (!in_body || body.last().IsInvariant(def));
}

}  // namespace

std::unordered_set<const Op*> CheckedAlongRow(const ElementwiseLoopBody& body) {
  std::unordered_set<const Op*> accesses;
  for (const Op* op : *body.elementwise()->region()) {
    bool is_access = op->kind() == OpKind::Load || op->kind() == OpKind::Store;
    if (!is_access || op->attr<AttrKey::BoundsMode>() != ir::BoundsMode::Guard ||
        !op->Segment(ir::OperandWith(op->kind(), ir::Effect::Mask)).empty())
      continue;
    if (std::ranges::all_of(IndexOf(op),
                            [&](const Value* index) { return IsKnownAtStart(body, index); }))
      accesses.insert(op);
  }
  return accesses;
}

Value* IsRowInside(ElementwiseLoopBody& body, const std::unordered_set<const Op*>& accesses,
                   const Window& row) {
  Expander& e = body.e();
  Value* inside = e.b.Bool(true);
  body.Locally([&] {
    body.position()[body.axes().back()] = row.lo;
    body.MapPoint(body.axes().size() - 1);
    Value* others = e.b.Sub(row.size, e.b.I64(1));
    for (const Op* op : *body.elementwise()->region()) {
      if (!accesses.contains(op)) continue;
      ElementAccess access = Widened(e.b, body.AccessHere(op, {}));
      const ir::Access map = op->attr<AttrKey::Access>();
      for (size_t d = 0; d < map.dims.size(); ++d) {
        bool varies = std::ranges::any_of(map.dims[d].terms, [&](const ir::AccessTerm& term) {
          return VariesAlongRow(body, IndexOf(op)[term.operand]);
        });
        Value* first = IndexValue(e.b, map.dims[d], access.index);
        Value* last = varies ? e.b.Add(first, others) : first;
        Value* bound = e.b.SizeValue(access.tensor->type()->dims[d]);
        inside = e.b.And(inside, e.b.Ge(first, e.b.I64(0)));
        inside = e.b.And(inside, e.b.Lt(first, bound));  // so that `last` does not overflow
        inside = e.b.And(inside, e.b.Lt(last, bound));
      }
    }
  });
  return inside;
}

}  // namespace kdl::cpu
