#include "targets/simt/iteration_parts.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/simt/passes.h"

namespace kdl::simt {

namespace {

/// Numbers beyond this one are not examined, so that sums and products fit in 64 bits.
constexpr int64_t kMost = int64_t{1} << 30;

/// The numbers from `least` to `most`.
struct Interval {
  int64_t least;
  int64_t most;
};

std::optional<Interval> MakeInterval(int64_t least, int64_t most) {
  return -kMost <= least && most <= kMost ? std::optional(Interval{least, most}) : std::nullopt;
}

/// Returns the loop whose variable the value is, or null.
const Op* LoopOfVariable(const Value* value) {
  const Op* loop =
      value->def() || !value->parent_region() ? nullptr : value->parent_region()->parent();
  return loop && loop->kind() == OpKind::Loop && value->index() == 0 ? loop : nullptr;
}

std::optional<Interval> IntervalOf(const Value* value);

/// Returns the interval of the numbers that an op computes from non-negative numbers and constants.
std::optional<Interval> IntervalOfResult(const Op* op) {
  if (op->operands().size() != 2) return std::nullopt;
  std::optional<Interval> a = IntervalOf(op->operand(0));
  std::optional<Interval> b = IntervalOf(op->operand(1));
  std::optional<int64_t> by = ConstantOf(op->operand(1));
  switch (op->kind()) {
    case OpKind::Rem:
      return by && *by > 0 ? MakeInterval(0, *by - 1) : std::nullopt;
    case OpKind::Div:
      return a && a->least >= 0 && by && *by > 0 ? MakeInterval(a->least / *by, a->most / *by)
                                                 : std::nullopt;
    case OpKind::Add:
      return a && b ? MakeInterval(a->least + b->least, a->most + b->most) : std::nullopt;
    case OpKind::Sub:
      return a && b ? MakeInterval(a->least - b->most, a->most - b->least) : std::nullopt;
    case OpKind::Mul:
      return a && b && a->least >= 0 && b->least >= 0
                 ? MakeInterval(a->least * b->least, a->most * b->most)
                 : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// Returns a number that the value does not exceed.
std::optional<int64_t> MostOf(const Value* value) {
  if (!value->def() || value->def()->kind() != OpKind::Min) return ConstantOf(value);
  std::optional<int64_t> a = MostOf(value->def()->operand(0));
  std::optional<int64_t> b = MostOf(value->def()->operand(1));
  return a && b ? std::min(*a, *b) : a ? a : b;
}

std::optional<Interval> IntervalOf(const Value* value) {
  if (std::optional<int64_t> number = ConstantOf(value)) return MakeInterval(*number, *number);
  if (value->def()) return IntervalOfResult(value->def());
  const Op* loop = LoopOfVariable(value);
  if (!loop) return std::nullopt;
  std::optional<int64_t> lo = ConstantOf(loop->operand(ir::LoopOp::at_lo));
  std::optional<int64_t> end = MostOf(loop->operand(ir::LoopOp::at_hi));
  return lo && end && *lo < *end ? MakeInterval(*lo, *end - 1) : std::nullopt;
}

/// The sum of the variable of a loop, whose iterations follow one another, and a number.
struct Place {
  const Op* loop;
  Interval after;
};

std::optional<Place> PlaceOf(const Value* index) {
  if (const Op* loop = LoopOfVariable(index)) {
    bool is_known = !loop->HasAttr(AttrKey::Threads);
    return is_known ? std::optional(Place{loop, {0, 0}}) : std::nullopt;
  }
  const Op* def = index->def();
  bool is_sum = def && (def->kind() == OpKind::Add || def->kind() == OpKind::Sub);
  for (size_t i = 0; is_sum && i < (def->kind() == OpKind::Add ? 2 : 1); ++i) {
    std::optional<Place> place = PlaceOf(def->operand(i));
    std::optional<Interval> other = IntervalOf(def->operand(1 - i));
    if (!place || !other) continue;
    if (def->kind() == OpKind::Sub) other = Interval{-other->most, -other->least};
    place->after.least += other->least;
    place->after.most += other->most;
    return place;
  }
  return std::nullopt;
}

/// Returns the indices of an access, one for each dimension; null for an index that is not a single value.
std::vector<const Value*> IndicesOf(const Op* access, const Value* memory) {
  std::vector<const Value*> indices;
  if (access->kind() == OpKind::BufferLoad || access->kind() == OpKind::BufferStore) {
    bool loads = access->kind() == OpKind::BufferLoad;
    auto index = access->Segment(loads ? size_t{ir::BufferLoadOp::at_index}
                                       : size_t{ir::BufferStoreOp::at_index});
    return {index.begin(), index.end()};
  }
  bool is_plain = access->kind() == OpKind::Load || access->kind() == OpKind::Store;
  // The dimensions of a view are not those of its memory.
  if (!is_plain || !Contains(access->operands(), memory)) return {};
  const ir::Access at = access->attr<AttrKey::Access>();
  for (const ir::AccessDim& dim : at.dims) {
    bool is_one = dim.terms.size() == 1 && IsConstant(dim.terms[0].coefficient, 1) &&
                  IsConstant(dim.offset, 0);
    indices.push_back(is_one ? IndexOf(access)[dim.terms[0].operand] : nullptr);
  }
  return indices;
}

}  // namespace

std::vector<IterationPart> IterationPartsOf(const Op* access, const Value* memory) {
  std::vector<const Value*> indices = IndicesOf(access, memory);
  std::vector<IterationPart> parts;
  for (size_t d = 0; d < indices.size(); ++d) {
    std::optional<Place> place = indices[d] ? PlaceOf(indices[d]) : std::nullopt;
    if (!place) continue;
    std::optional<int64_t> step = ConstantOf(place->loop->operand(ir::LoopOp::at_step));
    const Value* element = access->results().empty() ? access->operand(0) : access->result();
    int64_t lanes = d + 1 == indices.size() ? ir::Lanes(element->type()) : 1;
    if (step && place->after.least >= 0 && place->after.most + lanes <= *step)
      parts.push_back({place->loop, d});
  }
  return parts;
}

}  // namespace kdl::simt
