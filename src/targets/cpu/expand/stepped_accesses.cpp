#include <algorithm>

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"
#include "targets/cpu/expand/elementwise_body.h"
#include "targets/cpu/expand/permutation.h"

// Loads and stores of elements of tensors and tiles that are a few elements apart. All elements between the first and the last one of
// a group are loaded as whole vectors, from which each member picks its lanes. Only elements that exist are read: if
// it is not known that there are some after the last one, the last vector ends with that one, and overlaps the
// vector before. Vectors that are stored are interleaved first.

namespace kdl::cpu {

bool ElementwiseLoopBody::IsPermuted() const {
  return SavesPermuting(e_.facts, elementwise_, last_) && folds_.empty() && !last_.scan_axis() &&
         Lanes() * last_.Bytes() == e_.facts.vector_bits / 8;
}

int64_t ElementwiseLoopBody::PointOf(int64_t lane) const {
  return is_permuted_ ? PointInLane(lane, chunk_.lanes, last_.Bytes()) : lane;
}

int64_t ElementwiseLoopBody::LaneOf(int64_t point) const {
  int64_t lane = 0;
  while (PointOf(lane) != point) ++lane;
  return lane;
}

/// Returns a vector of consecutive points with each point in its lane.
Value* ElementwiseLoopBody::Permuted(Value* value) {
  if (!is_permuted_) return value;
  ir::NumberList picked;
  for (int64_t lane = 0; lane < chunk_.lanes; ++lane) picked.push_back(PointOf(lane));
  return MakeOne(e_.b, OpKind::Pick, {{value}}, value->type(),
                 {ir::MakeAttr<AttrKey::Picked>(std::move(picked))});
}

/// Returns the value with consecutive points in consecutive lanes.
Value* ElementwiseLoopBody::InOrder(Value* value) {
  if (!is_permuted_ || !ir::IsVector(value->type())) return value;
  ir::NumberList picked;
  for (int64_t point = 0; point < chunk_.lanes; ++point) picked.push_back(LaneOf(point));
  return MakeOne(e_.b, OpKind::Pick, {{value}}, value->type(),
                 {ir::MakeAttr<AttrKey::Picked>(std::move(picked))});
}

void ElementwiseLoopBody::ExpandStepped(const StepGroup& group, const Op* op) {
  if (op->kind() == OpKind::Store) {
    StoreStepped(group, op, Lane(op->operand(ir::StoreOp::at_value)));
  } else if (IsTakenApart(op)) {
    map_[op->result()] = PickStepped(group, op);
  }
}

/// Whether the elements of the member of a group are needed apart from those of the other members.
bool ElementwiseLoopBody::IsTakenApart(const Op* op) const {
  const auto& uses = op->result()->uses();
  const StepGroup* user = uses.size() == 1 ? last_.StepGroupOf(uses[0].user) : nullptr;
  return !user || uses[0].user->kind() == OpKind::Store;
}

/// Returns vectors of all elements between the first and the last one that members of the group need.
Values ElementwiseLoopBody::RowsOf(const StepGroup& group) {
  if (auto found = stepped_.find(&group); found != stepped_.end()) return found->second;
  Values rows = group.operands.empty() ? LoadGroup(group) : ComputeGroup(group);
  stepped_[&group] = rows;
  return rows;
}

Values ElementwiseLoopBody::ComputeGroup(const StepGroup& group) {
  const Op* op = group.members[0].op;
  std::vector<Values> operands;
  for (const std::optional<size_t>& number : group.operands)
    operands.push_back(number ? RowsOf(last_.step_groups()[*number]) : Values());
  size_t count = 0;
  for (const Values& rows : operands) count = std::max(count, rows.size());
  Values results;
  for (size_t row = 0; row < count; ++row) {
    size_t i = 0;
    auto operand = [&](Value* shared) {
      const Values& rows = operands[i++];
      return rows.empty() ? Lane(shared) : rows[row];
    };
    if (maxima_.Has(op)) {
      Value* a = operand(op->operand(0));
      results.push_back(maxima_.Larger(op, a, operand(op->operand(1))));
    } else {
      results.push_back(ExpandInLanes(e_, op, operand));
    }
  }
  return results;
}

/// Loads a vector that begins `elements` elements after the first element of the access.
Value* ElementwiseLoopBody::LoadAhead(const Op* op, int64_t elements) {
  ElementAccess access = Widened(e_.b, AccessHere(op, chunk_));
  ir::Access map = op->attr<AttrKey::Access>();
  SizeTable& sizes = e_.module.types().sizes();
  ir::AccessDim& last = map.dims.back();
  last.offset = sizes.Binary(SizeKind::Add, last.offset, sizes.Constant(elements));
  return MakeOne(e_.b, OpKind::Load, {{access.tensor}, access.index, {}, {}},
                 e_.VectorType(access.tensor->type()->scalar, chunk_.lanes),
                 {ir::MakeAttr<AttrKey::Access>(map),
                  ir::MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Proven)});
}

/// Returns how many elements the vectors of a group contain. Groups that are computed from each other have the same
/// elements, so they have none after the last one.
int64_t ElementwiseLoopBody::ElementCount(const StepGroup& group) const {
  const std::vector<StepGroup>& groups = last_.step_groups();
  auto number = static_cast<size_t>(&group - groups.data());
  bool is_only_read =
      group.operands.empty() && std::ranges::none_of(groups, [&](const auto& user) {
        return std::ranges::find(user.operands, std::optional(number)) != user.operands.end();
      });
  if (is_only_read && HasElementsBetween(e_.function, elementwise_, group))
    return group.step * chunk_.lanes;
  return group.step * (chunk_.lanes - 1) + 1 + group.Extent();
}

/// Loads all elements between the first and the last one that members of the group need.
Values ElementwiseLoopBody::LoadGroup(const StepGroup& group) {
  const Op* first = group.First();
  if (group.is_whole) {
    ElementAccess access = AccessHere(first, {group.step * chunk_.lanes});
    return {ExpandLoad(e_.b, access)};
  }
  Values rows;
  int64_t count = ElementCount(group);
  for (int64_t row = 0; row < group.step; ++row) {
    int64_t begin = std::min(row * chunk_.lanes, count - chunk_.lanes);
    rows.push_back(LoadAhead(first, begin));
  }
  return rows;
}

/// Returns the elements of one member of a group.
Value* ElementwiseLoopBody::PickStepped(const StepGroup& group, const Op* op) {
  KDL_CHECK(!chunk_.mask, "elements that are {} elements apart are masked", group.step);
  return PickEvery(group.step, RowsOf(group), *group.OffsetOf(op), ElementCount(group));
}

/// Returns the elements of a tile that an `element` op reads.
Value* ElementwiseLoopBody::PickElements(const Op* element, const TileBuffer& tile_buffer) {
  int64_t step = last_.ElementStep(element);
  KDL_CHECK(!chunk_.mask, "elements of a tile that are {} elements apart are masked", step);
  int64_t count = step * (chunk_.lanes - 1) + 1;
  Position place = PlaceOf(element);
  Value*& along = place.at(*last_.MovesAlong(element));
  Value* first = along;
  Values rows;
  for (int64_t row = 0; row < step; ++row) {
    along = e_.b.Add(first, e_.b.I64(std::min(row * chunk_.lanes, count - chunk_.lanes)));
    rows.push_back(LoadChunk(e_, tile_buffer, element->result()->type()->scalar, place,
                             {.lanes = chunk_.lanes}));
  }
  return PickEvery(step, rows, 0, count);
}

/// Returns every `step`-th element, from `offset` on, of `count` elements. These are a single vector, or the last one of
/// several vectors ends with the last element.
Value* ElementwiseLoopBody::PickEvery(int64_t step, const Values& rows, int64_t offset,
                                      int64_t count) {
  int64_t lanes = chunk_.lanes;
  ir::NumberList picked;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t element = step * PointOf(lane) + offset;
    int64_t row = element / lanes;
    int64_t begin = rows.size() == 1 ? row * lanes : std::min(row * lanes, count - lanes);
    picked.push_back(row * lanes + element - begin);
  }
  return MakeOne(e_.b, OpKind::Pick, {rows}, e_.VectorType(rows[0]->type()->scalar, lanes),
                 {ir::MakeAttr<AttrKey::Picked>(std::move(picked))});
}

/// Stores all vectors of a group once the last one is known.
void ElementwiseLoopBody::StoreStepped(const StepGroup& group, const Op* op, Value* value) {
  KDL_CHECK(!chunk_.mask, "elements that are {} elements apart are masked", group.step);
  auto steps = static_cast<size_t>(group.step);
  Values& rows = stepped_[&group];
  rows.resize(steps);
  rows[static_cast<size_t>(*group.OffsetOf(op))] = e_.b.Splat(value, chunk_.lanes);
  if (group.members.back().op != op) return;
  ir::NumberList picked;
  for (int64_t lane = 0; lane < group.step * chunk_.lanes; ++lane)
    picked.push_back(lane % group.step * chunk_.lanes + LaneOf(lane / group.step));
  Chunk chunk{group.step * chunk_.lanes};
  ir::Type type = e_.VectorType(rows[0]->type()->scalar, chunk.lanes);
  bool picks = is_permuted_ || group.step == 3;
  Value* zipped = picks ? MakeOne(e_.b, OpKind::Pick, {rows}, type,
                                  {ir::MakeAttr<AttrKey::Picked>(std::move(picked))})
                        : MakeOne(e_.b, OpKind::Zip, {rows}, type);
  ExpandStore(e_.b, AccessHere(group.First(), chunk), zipped);
}

}  // namespace kdl::cpu
