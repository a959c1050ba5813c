#include <algorithm>
#include <utility>

#include "ir/op_info.h"
#include "passes/rewriting/structured.h"
#include "targets/simt/expand/expander.h"

// Distributes the points of elementwise loops, and the rows of scans, to threads, and determines where
// results are stored.

namespace kdl::simt {

namespace {

/// Reorders a point's offsets, one for each axis of the elementwise loop, to match the order of the axes of a
/// result.
Values PlaceIn(const Op* op, size_t result, const AxisList& axes, const Values& place) {
  Values at;
  for (AxisId axis : op->result(result)->type()->axes)
    at.push_back(place[static_cast<size_t>(std::ranges::find(axes, axis) - axes.begin())]);
  return at;
}

}  // namespace

Value* WorkgroupExpander::YieldTarget(const Op* op, const Value* result) const {
  if (result->uses().size() != 1) return nullptr;
  const ir::Use& use = result->uses()[0];
  const Op* loop = op->parent_region()->parent();
  bool yields = use.user == op->parent_region()->terminator() && loop &&
                (loop->kind() == OpKind::Loop || loop->kind() == OpKind::While);
  if (!yields) return nullptr;
  const Value* param =
      op->parent_region()->param(use.operand + (loop->kind() == OpKind::Loop ? 1 : 0));
  for (const ir::Use& old : param->uses()) {
    const Op* user = AncestorIn(op->parent_region(), old.user);
    bool harmless = user == op ? ReadsOwnPointsOnly(op, old) : !ComesAfter(user, op);
    if (!harmless) return nullptr;
  }
  return tiles_.BufferOf(param);
}

bool WorkgroupExpander::ReadsOwnPointsOnly(const Op* op, const ir::Use& use) {
  if (op->kind() == OpKind::Contraction)
    return use.operand == op->SegmentBegin(ir::ContractionOp::at_into);
  return ReadsOwnPoints(op, use.user);
}

Value* WorkgroupExpander::ResultBuffer(const Op* op, const Value* result) {
  Value* target = YieldTarget(op, result);
  if (!target) {
    target = tiles_.NewBuffer(result, result->name());
    bool fills = op->kind() == OpKind::Elementwise && StaysInRegisters(op);
    if (tiles_.IsInRegisters(result) && !fills) tiles_.Clear(op, result, target);
  }
  return tiles_[result] = target;
}

void WorkgroupExpander::ExpandElementwiseLoop(const Op* op) {
  Values buffers;
  std::vector<const Value*> made;
  for (const Value* result : op->results()) {
    bool is_fetched = products_ && products_->Fetches(result);
    if (is_fetched) products_->Fetch(result);
    bool is_made = !is_fetched && !result->uses().empty();
    buffers.push_back(is_made ? ResultBuffer(op, result) : nullptr);
    if (is_made) made.push_back(result);
  }
  if (made.empty() && !op->results().empty()) return;
  AxisList axes;
  for (const Value* block : op->operands()) axes.push_back(block->type()->axes[0]);
  bool ordered = UpdatesInOrder(op);
  auto body = [&](const Values& place) { ExpandPoint(op, axes, place, buffers); };
  if (ordered) return Once([&] { InOrder(op, axes, body); });
  AxisMap map = AxisMapOf(*op);
  if (!map.empty()) {
    DistributeMapped(op, axes, map, buffers, body);
    return FinishFactors(b_, tiles_, op, made, threads_);
  }
  auto together = [&](const std::vector<Values>& places) {
    std::vector<Values> made;
    for (const Values& place : places) made.push_back(MakePoint(op, axes, place));
    for (size_t i = 0; i < places.size(); ++i) StorePoint(op, axes, places[i], made[i], buffers);
  };
  auto distribute = [&] {
    BringsFactor(op, axes) ? tiles_.DistributeTogether(op, axes, threads_, together, body)
                           : DistributePoints(op, axes, buffers, body);
  };
  factor_copies_.Takes(op) ? ExpandCopies(op, axes, buffers, distribute) : distribute();
  FinishFactors(b_, tiles_, op, made, threads_);
}

PointMaker WorkgroupExpander::PointsOfGroups() {
  auto expand = [this](Op* of_elementwise) {
    in_elementwise_ = true;
    ExpandOp(of_elementwise);
    in_elementwise_ = false;
  };
  return {scalars_, places_, expand};
}

void WorkgroupExpander::DistributeMapped(const Op* op, const AxisList& axes, const AxisMap& map,
                                         const Values& buffers, const WorkgroupTiles::Body& body) {
  PointMaker maker = PointsOfGroups();
  int64_t first = 0;  // the number of a group's first point among those of the thread
  maker.select = [&](size_t point) {
    tiles_.SetHeld(axes.back(), first + static_cast<int64_t>(point));
  };
  bool harmless = StaysInRegisters(op);
  SidePoints side(facts_, b_, tiles_, rows_, op, maker, map.at(axes.back()).side);
  if (harmless || side.count() == 1) return tiles_.DistributeByMap(op, axes, map, harmless, body);
  auto group = [&](const Values& place, int64_t held) {
    first = held;
    std::vector<Values> made = side.Make({place})[0];
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i]) side.Store(made[i], op->result(i), buffers[i], PlaceIn(op, i, axes, place));
    }
  };
  Value* covered = tiles_.AreCovered(op, axes, map);
  passes::MakeIf(
      b_, b_.And(covered, side.Fits()),
      [&] { tiles_.DistributeSidesByMap(axes, map, side.count(), group); },
      [&] { tiles_.DistributeByMap(op, axes, map, harmless, body); });
}

void WorkgroupExpander::DistributePoints(const Op* op, const AxisList& axes, const Values& buffers,
                                         const WorkgroupTiles::Body& body) {
  SidePoints side(facts_, b_, tiles_, rows_, op, PointsOfGroups());
  // If products fill the registers, no registers are left for computing several points at once.
  if (side.count() == 1 || has_maps_) return tiles_.Distribute(op, axes, body);
  auto together = [&](const std::vector<Values>& places) {
    std::vector<std::vector<Values>> made = side.Make(places);
    for (size_t group = 0; group < places.size(); ++group) {
      for (size_t i = 0; i < buffers.size(); ++i) {
        if (!buffers[i]) continue;
        side.Store(made[group][i], op->result(i), buffers[i], PlaceIn(op, i, axes, places[group]));
      }
    }
  };
  auto one_group = [&](const Values& place) { together({place}); };
  auto in_groups = [&] {
    if (side.groups_at_once() == 1)
      return tiles_.DistributeSide(op, axes, threads_, side.count(), one_group);
    passes::MakeIf(
        b_, tiles_.AreWhole(op, axes),
        [&] {
          tiles_.DistributeGroups(axes, threads_, side.count(), side.groups_at_once(), together);
        },
        [&] { tiles_.DistributeSide(op, axes, threads_, side.count(), one_group); });
  };
  passes::MakeIf(b_, side.Fits(), in_groups,
                 [&] { tiles_.DistributeSingly(op, axes, threads_, body); });
}

void WorkgroupExpander::ExpandCopies(const Op* op, const AxisList& axes, const Values& buffers,
                                     const std::function<void()>& otherwise) {
  if (!buffers[0]) return;
  auto index_at = [&](const Op* load, const Values& point) {
    for (size_t i = 0; i < axes.size(); ++i) scalars_[op->region()->param(i)] = point[i];
    return NewScalars(load->Segment(ir::LoadOp::at_index));
  };
  Value* tensor = Scalar(op->region()->first()->operand(ir::LoadOp::at_tensor));
  factor_copies_.Begin(op, tensor, buffers[0], index_at, otherwise);
}

bool WorkgroupExpander::BringsFactor(const Op* elementwise, const AxisList& axes) const {
  constexpr int64_t kMost = 32;  // the maximum number of loads in flight
  int64_t each = tiles_.PointsPerThread(axes, threads_);
  auto is_factor = [&](const Value* result) { return tiles_.IsFactor(result); };
  bool makes_factors =
      !elementwise->results().empty() &&
      (std::ranges::all_of(elementwise->results(), is_factor) || factor_copies_.Takes(elementwise));
  bool brings = makes_factors && 2 <= each && each <= kMost;
  ir::Walk(elementwise->region(), [&](const Op* op) {
    bool is_plain = op->kind() == OpKind::Load &&
                    (op->attr<ir::AttrKey::BoundsMode>() == ir::BoundsMode::Clip ||
                     op->attr<ir::AttrKey::BoundsMode>() == ir::BoundsMode::Proven);
    brings &= is_plain || op->info().has(ir::kPure) || op->info().has(ir::kTerminator);
  });
  return brings;
}

bool WorkgroupExpander::StaysInRegisters(const Op* elementwise) const {
  bool stays = std::ranges::all_of(
      elementwise->results(), [&](const Value* result) { return tiles_.IsInRegisters(result); });
  ir::Walk(elementwise->region(), [&](const Op* op) {
    bool is_global = op->kind() == OpKind::Element && !tiles_.IsInRegisters(op->operand(0));
    stays &= !is_global && (op->info().has(ir::kPure) || op->info().has(ir::kTerminator));
  });
  return stays;
}

void WorkgroupExpander::InOrder(const Op* at, const AxisList& axes,
                                const std::function<void(const Values&)>& body) {
  Values sizes;
  for (AxisId axis : axes) sizes.push_back(Facts(at, axis).size);
  MakeLoops(b_, sizes, body);
}

void WorkgroupExpander::ExpandPoint(const Op* op, const AxisList& axes, const Values& place,
                                    const Values& buffers) {
  StorePoint(op, axes, place, MakePoint(op, axes, place), buffers);
}

Values WorkgroupExpander::MakePoint(const Op* op, const AxisList& axes, const Values& place) {
  in_elementwise_ = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    Value* index = b_.Add(Facts(op, axes[i]).start, place[i]);
    scalars_[op->region()->param(i)] = index;
    places_.Set(index, axes[i], place[i]);
  }
  ExpandRegion(op->region());
  in_elementwise_ = false;
  return NewScalars(op->region()->terminator()->operands());
}

void WorkgroupExpander::StorePoint(const Op* op, const AxisList& axes, const Values& place,
                                   const Values& made, const Values& buffers) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i]) continue;
    tiles_.Store(made[i], op->result(i), buffers[i], PlaceIn(op, i, axes, place));
  }
}

void WorkgroupExpander::ExpandElement(const Op* op) {
  ir::ElementOp element(const_cast<Op*>(op));
  const AxisList& axes = element.tile()->type()->axes;
  Values place;
  for (size_t i = 0; i < axes.size(); ++i) {
    Value* index = Scalar(element.point()[i]);
    Value* known = places_.Find(index, axes[i]);
    place.push_back(known ? known : b_.Sub(index, Facts(op, axes[i]).start));
  }
  scalars_[op->result()] = tiles_.Load(element.tile(), tiles_.BufferOf(element.tile()), place);
}

void WorkgroupExpander::ExpandScan(const Op* op) {
  ir::ScanOp scan(const_cast<Op*>(op));
  AxisId walked = op->attr<AttrKey::Axes>()[0];
  AxisList kept = op->result()->type()->axes;
  Values buffers;
  for (const Value* result : op->results()) buffers.push_back(ResultBuffer(op, result));
  std::erase(kept, walked);
  auto row = [&](const Values& place) { ScanRow(scan, walked, kept, place, buffers); };
  kept.empty() ? Once([&] { row({}); }) : tiles_.Distribute(op, kept, row);
}

void WorkgroupExpander::ScanRow(ir::ScanOp scan, AxisId walked, const AxisList& kept,
                                const Values& place, const Values& buffers) {
  Value* size = Facts(scan.op, walked).size;
  bool down = scan->attr<AttrKey::Direction>() == ir::DirectionKind::Down;
  bool after = scan->attr<AttrKey::Keep>() == ir::KeepKind::After;
  Value* zero = b_.I64(0);
  MakeLoop(b_, {zero, size}, NewScalars(scan.inits()), [&](Value* number, const Values& before) {
    Value* from_end = down ? b_.Sub(size, number) : nullptr;
    Value* position = down ? b_.Sub(from_end, b_.I64(1)) : number;
    auto at = [&](const AxisList& axes) {
      Values index;
      for (AxisId axis : axes) {
        auto found = std::ranges::find(kept, axis);
        index.push_back(axis == walked ? position
                                       : place[static_cast<size_t>(found - kept.begin())]);
      }
      return index;
    };
    const ir::Region* region = scan->region();
    for (size_t i = 0; i < before.size(); ++i) {
      Value* tile = scan.values()[i];
      scalars_[region->param(i)] = before[i];
      scalars_[region->param(before.size() + i)] =
          IsTileValue(tile) ? tiles_.Load(tile, tiles_.BufferOf(tile), at(tile->type()->axes))
                            : Scalar(tile);
    }
    ExpandRegion(region);
    Values next = NewScalars(region->terminator()->operands());
    for (size_t i = 0; i < buffers.size(); ++i)
      tiles_.Store(after ? next[i] : before[i], scan->result(i), buffers[i],
                   at(scan->result(i)->type()->axes));
    return next;
  });
}

}  // namespace kdl::simt
