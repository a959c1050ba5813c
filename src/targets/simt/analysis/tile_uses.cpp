#include "targets/simt/analysis/tile_uses.h"

#include <algorithm>

#include "ir/views.h"
#include "support/scalar.h"

namespace kdl::simt {

using ir::AttrKey;
using ir::AxisId;
using ir::AxisList;
using ir::Op;
using ir::OpKind;
using ir::Value;

AxisMap AxisMapOf(const Op& op) {
  AxisMap by_axis;
  AxisList axes = ir::MappedAxes(op);
  ir::LaneMap map = ir::MapOf(op);
  for (size_t i = 0; i < map.size(); ++i) by_axis[axes[i]] = map[i];
  return by_axis;
}

bool IsTileValue(const Value* value) {
  return ir::IsTile(value->type()) && !value->type()->axes.empty();
}

bool HandsOn(const Op* op) {
  return op->kind() == OpKind::For || op->kind() == OpKind::Loop || op->kind() == OpKind::While ||
         op->kind() == OpKind::If;
}

bool ReadsOwnPoints(const Op* elementwise, const Op* element) {
  if (element->kind() != OpKind::Element) return false;
  auto point = element->Segment(ir::ElementOp::at_point);
  const AxisList& axes = element->operand(0)->type()->axes;
  if (axes.size() != elementwise->operands().size()) return false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Value* index = point[i];
    bool own = index->parent_region() == elementwise->region() &&
               elementwise->operand(index->index())->type()->axes[0] == axes[i];
    if (!own) return false;
  }
  return true;
}

std::optional<AxisId> LoadedAlong(const Value* tile) {
  const Op* elementwise = tile->def();
  if (!elementwise || elementwise->kind() != OpKind::Elementwise) return std::nullopt;
  const Op* load = elementwise->region()->terminator()->operand(tile->index())->def();
  if (!load || load->kind() != OpKind::Load) return std::nullopt;
  const ir::Access access = load->attr<AttrKey::Access>();
  if (access.dims.empty() || access.dims.back().terms.size() != 1) return std::nullopt;
  auto indices = load->Segment(ir::LoadOp::at_index);
  const ir::AccessTerm& last = access.dims.back().terms[0];
  const Value* index = indices[last.operand];
  if (index->parent_region() != elementwise->region() || !IsConstant(last.coefficient, 1))
    return std::nullopt;
  int walked = 0;  // how many dimensions have this index; diagonals are not contiguous
  for (const ir::AccessDim& dim : access.dims) {
    for (const ir::AccessTerm& term : dim.terms) walked += indices[term.operand] == index ? 1 : 0;
  }
  if (walked != 1) return std::nullopt;
  return elementwise->operand(index->index())->type()->axes[0];
}

bool IsStreamedAlong(const Value* tile, AxisId axis) {
  const AxisList& axes = tile->type()->axes;
  auto reads_along = [&](const ir::Use& use) {
    const Op* elementwise = ElementwiseLoopAround(use.user);
    if (use.user->kind() != OpKind::Element || !elementwise) return false;
    const Value* fastest = elementwise->region()->params().back();
    auto point = use.user->Segment(ir::ElementOp::at_point);
    for (size_t i = 0; i < axes.size(); ++i) {
      if ((axes[i] == axis) != (point[i] == fastest)) return false;
    }
    return true;
  };
  const Op* loop = tile->def()->parent_region()->parent();
  bool repeats = loop && loop->kind() == OpKind::Loop && !loop->HasAttr(AttrKey::Blocks);
  return repeats && axes.size() > 1 && std::ranges::all_of(tile->uses(), reads_along);
}

bool IsRowOfIteration(const Value* tile) {
  const Op* loop = tile->def()->parent_region()->parent();
  return loop && loop->kind() == OpKind::Loop && tile->type()->axes.size() == 1 &&
         std::ranges::all_of(tile->uses(), [](const ir::Use& use) {
           return use.user->kind() == OpKind::Element && ElementwiseLoopAround(use.user);
         });
}

bool UpdatesInOrder(const Op* elementwise) {
  bool found = false;
  ir::Walk(elementwise->region(), [&](const Op* op) {
    found |= op->kind() == OpKind::Update && op->attr<AttrKey::Scope>() != ir::ScopeKind::Launch;
  });
  return found;
}

bool FoldsInAnyOrder(const Op* op) {
  if (op->kind() != OpKind::Reduce) return false;
  if (op->operand(0)->type()->axes.size() != 2 || op->attr<AttrKey::Axes>().size() != 1)
    return false;
  auto fold = op->attr<AttrKey::Reduction>();
  bool sums = fold == ir::ReductionKind::Sum || fold == ir::ReductionKind::Prod;
  return !sums || IsInteger(op->attr<AttrKey::Acc>());
}

const Op* ElementwiseLoopAround(const Op* op) {
  const Op* around = op->parent_region()->parent();
  while (around && around->kind() != OpKind::Elementwise)
    around = around->parent_region()->parent();
  return around;
}

AxisList IndexedAxes(const Op* access) {
  auto index = access->Segment(access->kind() == OpKind::Load ? size_t{ir::LoadOp::at_index}
                                                              : size_t{ir::StoreOp::at_index});
  AxisList axes;
  for (const ir::AccessDim& dim : access->attr<AttrKey::Access>().dims) {
    for (const ir::AccessTerm& term : dim.terms) {
      ir::Type type = index[term.operand]->type();
      if (type->kind == ir::TypeKind::Block) axes.push_back(type->axes[0]);
    }
  }
  return axes;
}

}  // namespace kdl::simt
