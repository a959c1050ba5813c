#include "targets/cpu/analysis/steps.h"

#include <algorithm>

#include "ir/op_kind.h"
#include "ir/requirement.h"
#include "ir/tensor_view.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

const Op* StepGroup::First() const {
  return std::ranges::find(members, 0, [](const Member& member) { return member.offset; })->op;
}

std::optional<int64_t> StepGroup::OffsetOf(const Op* op) const {
  auto found = std::ranges::find(members, op, [](const Member& member) { return member.op; });
  return found == members.end() ? std::nullopt : std::optional(found->offset);
}

int64_t StepGroup::Extent() const {
  int64_t extent = 0;
  for (const Member& member : members) extent = std::max(extent, member.offset);
  return extent;
}

bool StepGroup::IsFull() const {
  for (int64_t offset = 0; offset < step; ++offset) {
    bool has =
        std::ranges::any_of(members, [&](const Member& member) { return member.offset == offset; });
    if (!has) return false;
  }
  return true;
}

namespace {

/// Returns how far the elements of `b` come after those of `a`, or nothing if that is not constant.
std::optional<int64_t> DistanceOf(const Op* a, const Op* b) {
  if (TensorOf(a) != TensorOf(b) || !std::ranges::equal(IndexOf(a), IndexOf(b)))
    return std::nullopt;
  ir::Access of_a = a->attr<AttrKey::Access>();
  ir::Access of_b = b->attr<AttrKey::Access>();
  Size from = of_a.dims.back().offset;
  Size to = of_b.dims.back().offset;
  of_a.dims.back().offset = to;
  if (of_a != of_b) return std::nullopt;
  if (from == to) return 0;
  int64_t distance = 0;
  bool known = IsConstant(from) && IsConstant(to) &&
               !__builtin_sub_overflow(to->value, from->value, &distance);
  return known ? std::optional(distance) : std::nullopt;
}

/// Forms the groups of one loop.
class StepGrouping {
 public:
  void Visit(const Op* op, int64_t step) {
    End(op, Joined(op, step));
    if (step == 0 || joined_) return;
    open_.push_back(groups_.size());
    groups_.push_back({step, {{op, 0}}});
  }

  std::optional<std::vector<StepGroup>> Groups() {
    bool all = std::ranges::all_of(groups_, [](const StepGroup& group) {
      bool loads = group.members[0].op->kind() == OpKind::Load;
      return loads || (group.IsFull() && group.Extent() + 1 == group.step);
    });
    if (!all) return std::nullopt;
    for (StepGroup& group : groups_) {
      int64_t bytes = Bytes(TensorOf(group.members[0].op)->type()->scalar);
      group.is_whole = group.IsFull() && (group.step == 2 || bytes == 1);
    }
    return std::move(groups_);
  }

 private:
  /// Adds the access to a group that it fits into, and returns that group's number or nothing.
  std::optional<size_t> Joined(const Op* op, int64_t step) {
    joined_ = false;
    for (size_t number : open_) {
      if (step == 0 || !Join(groups_[number], op, step)) continue;
      joined_ = true;
      return number;
    }
    return std::nullopt;
  }

  static bool Join(StepGroup& group, const Op* op, int64_t step) {
    const Op* first = group.First();
    std::optional<int64_t> distance = DistanceOf(first, op);
    if (group.step != step || first->kind() != op->kind() || !distance) return false;
    if (*distance <= -step || *distance >= step) return false;
    if (*distance >= 0 && op->kind() == OpKind::Store &&
        std::ranges::any_of(group.members, [&](const auto& m) { return m.offset == *distance; }))
      return false;
    int64_t before = std::max<int64_t>(-*distance, 0);
    if (group.Extent() + before >= step) return false;
    for (StepGroup::Member& member : group.members) member.offset += before;
    group.members.push_back({op, *distance + before});
    return true;
  }

  /// Ends the groups of the same memory, other than `joined`, whose accesses must not move past the op.
  void End(const Op* op, std::optional<size_t> joined) {
    const Value* memory = ir::MemoryOf(TensorOf(op));
    std::erase_if(open_, [&](size_t number) {
      const Op* other = groups_[number].members[0].op;
      bool reads = op->kind() == OpKind::Load && other->kind() == OpKind::Load;
      return number != joined && !reads && ir::MemoryOf(TensorOf(other)) == memory;
    });
  }

  std::vector<StepGroup> groups_;
  std::vector<size_t> open_;  ///< the numbers of the groups that may still grow
  bool joined_ = false;
};

}  // namespace

std::optional<std::vector<StepGroup>> GroupSteps(const Op* elementwise,
                                                 const std::vector<SteppedAccess>& accesses) {
  StepGrouping grouping;
  for (const Op* op : *elementwise->region()) {
    if (!op->HasAttr(AttrKey::BoundsMode)) continue;
    auto found = std::ranges::find(accesses, op, [](const auto& access) { return access.op; });
    grouping.Visit(op, found == accesses.end() ? 0 : found->step);
  }
  return grouping.Groups();
}

namespace {

/// Whether the size is at least `step` * `points` + `offset`, because it is such a sum or both are constants.
bool IsSumAtLeast(Size size, int64_t step, Size points, int64_t offset) {
  int64_t added = 0;
  while (size->kind == SizeKind::Add && IsConstant(size->rhs) && size->rhs->value >= 0) {
    if (__builtin_add_overflow(added, size->rhs->value, &added)) return false;
    size = size->lhs;
  }
  if (IsConstant(size) && IsConstant(points)) {
    int64_t least = 0;
    return !__builtin_mul_overflow(step, points->value, &least) &&
           !__builtin_add_overflow(least, offset, &least) && size->value >= least;
  }
  bool is_product =
      size->kind == SizeKind::Mul && ((IsConstant(size->lhs, step) && size->rhs == points) ||
                                      (IsConstant(size->rhs, step) && size->lhs == points));
  return is_product && added >= offset;
}

}  // namespace

bool HasElementsBetween(const ir::Function& function, const Op* elementwise,
                        const StepGroup& group) {
  const Op* first = group.First();
  const Value* point = elementwise->region()->params().back();
  const ir::AccessDim index = first->attr<AttrKey::Access>().dims.back();
  Size points = function.axis(elementwise->operands().back()->type()->axes[0]).domain;
  bool is_along = index.terms.size() == 1 && IndexOf(first)[index.terms[0].operand] == point &&
                  IsConstant(index.terms[0].coefficient, group.step);
  if (!points || !is_along || !IsConstant(index.offset)) return false;
  // The elements before that of point N, which does not exist.
  auto suffices = [&](Size size) {
    return IsSumAtLeast(size, group.step, points, index.offset->value);
  };
  Size own = TensorOf(first)->type()->dims.back();
  if (suffices(own)) return true;
  return std::ranges::any_of(ir::RequirementsOf(function), [&](const Op* require) {
    Size left = require->attr<AttrKey::Left>();
    Size right = require->attr<AttrKey::Right>();
    ir::CompareKind compare = require->attr<AttrKey::Compare>();
    bool is_equal = compare == ir::CompareKind::Eq;
    return (left == own && (is_equal || compare == ir::CompareKind::Ge) && suffices(right)) ||
           (right == own && (is_equal || compare == ir::CompareKind::Le) && suffices(left));
  });
}

bool WalksShortRows(const Op* access, const Op* elementwise) {
  const Value* point = elementwise->region()->params().back();
  ir::Access map = access->attr<AttrKey::Access>();
  Size length = TensorOf(access)->type()->dims.back();
  if (map.dims.size() < 2 || !IsConstant(length) || length->value > kLargestStep) return false;
  auto index = IndexOf(access);
  int64_t rows = 0;
  for (const ir::AccessDim& dim : map.dims) {
    for (const ir::AccessTerm& term : dim.terms) {
      if (index[term.operand] != point) continue;
      if (rows != 0 || &dim != &map.dims[map.dims.size() - 2] || !IsConstant(term.coefficient))
        return false;
      rows = term.coefficient->value;
    }
  }
  return rows >= 1 && rows * length->value <= kLargestStep;
}

ir::Access JoinedAccess(SizeTable& sizes, ir::Access access, Size length) {
  ir::AccessDim in_row = std::move(access.dims.back());
  access.dims.pop_back();
  ir::AccessDim& last = access.dims.back();
  Size row = sizes.Binary(SizeKind::Mul, last.offset, length);
  last.offset = sizes.Binary(SizeKind::Add, row, in_row.offset);
  for (ir::AccessTerm& term : last.terms)
    term.coefficient = sizes.Binary(SizeKind::Mul, term.coefficient, length);
  last.terms.insert(last.terms.end(), in_row.terms.begin(), in_row.terms.end());
  return access;
}

}  // namespace kdl::cpu
