#include "targets/cpu/analysis/last_axis.h"

#include <algorithm>

#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/combining.h"
#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

namespace {

using ir::BoundsMode;

/// How the address of an access changes along an axis: not at all, to the next element, to the next row, or
/// in any other way.
enum class Stride { Still, SideBySide, RowToRow, Otherwise };

/// Whether the value is computed from elements of a tensor. `visited` contains the values that were visited
/// before: a loop may compute a tile from itself.
bool ComesFromMemory(const Value* value, std::unordered_set<const Value*>& visited) {
  const Op* op = value->def();
  if (!op || !visited.insert(value).second) return false;
  auto comes = [&](const Value* other) { return ComesFromMemory(other, visited); };
  switch (op->kind()) {
    case OpKind::Load:
      return true;
    case OpKind::Elementwise:
      return comes(op->region()->terminator()->operand(value->index()));
    case OpKind::LoadTile:
      return std::ranges::any_of(op->operand(0)->uses(), [&](const ir::Use& use) {
        return use.user->kind() == OpKind::StoreTile && comes(use.user->operand(0));
      });
    case OpKind::Element:
      return comes(op->operand(0));
    default:
      return !op->regions().empty() || std::ranges::any_of(op->operands(), comes);
  }
}

}  // namespace

bool ReadsOwnPoints(const Op* elementwise, const Op* element) {
  const AxisList walked = WalkedAxes(elementwise);
  return std::ranges::all_of(element->operand(0)->type()->axes,
                             [&](AxisId axis) { return Contains(walked, axis); });
}

LastAxis::LastAxis(const Op* elementwise, bool by_steps, std::unordered_set<const Op*> staying)
    : elementwise_(elementwise),
      point_(elementwise->region()->params().back()),
      by_steps_(by_steps),
      staying_(std::move(staying)) {
  axis_ = elementwise->operands().back()->type()->axes[0];
  const auto& yielded = elementwise->region()->terminator()->operands();
  only_folds_ = !yielded.empty() && std::ranges::all_of(yielded, IsFolded);
  for (const Op* op : *elementwise->region()) {
    if (op->kind() == OpKind::ScanInLoop) scan_axis_ = op->attr<AttrKey::Axes>()[0];
  }
  for (const Op* op : *elementwise->region()) Study(op);
  if (!stepped_.empty()) {
    std::optional<std::vector<StepGroup>> groups = GroupSteps(elementwise, stepped_);
    if (groups) step_groups_ = std::move(*groups);
    AddResultGroups(elementwise, step_groups_);
    scattered_ = scattered_ || !groups;
  }
  for (const Op* op : *elementwise->region()) {
    if (MustStay(op)) staying_.insert(op);
  }
}

/// Whether the op must stay in the loop over the axis. That is the case if it may trap or write, if its
/// result varies along the axis, or if it reads a result that varies. A scan changes its accumulators.
bool LastAxis::MustStay(const Op* op) const {
  if (MayTrap(op) || op->kind() == OpKind::ScanInLoop || op->kind() == OpKind::Store ||
      op->kind() == OpKind::Update || op->kind() == OpKind::Prefetch || op->kind() == OpKind::Yield)
    return true;
  return std::ranges::any_of(op->results(), [&](const Value* v) { return !IsUniform(v); }) ||
         std::ranges::any_of(OutsideOperands(op),
                             [&](const Value* v) { return staying_.contains(v->def()); });
}

/// Analyzes a `while`. A value that it carries varies along the axis if its initial value or a later value
/// varies, or if elements need different numbers of iterations.
void LastAxis::StudyWhile(const Op* op) {
  const ir::Region* region = op->region();
  const Op* yield = region->terminator();
  for (size_t before = varying_.size() + 1; before != varying_.size();) {
    before = varying_.size();
    for (size_t i = 0; i < op->results().size(); ++i) {
      bool varies = !IsUniform(op->operand(i)) || !IsUniform(yield->operand(i)) ||
                    !IsUniform(region->param(0));
      if (!varies) continue;
      varying_.insert(region->param(i));
      varying_.insert(op->result(i));
    }
    for (const Op* inner : *region) Study(inner);
  }
  for (const Value* result : op->results()) Count(result->type()->scalar);
  // A loop that may trap, with a condition that varies, must run element by element.
  if (MayTrap(op) && !IsUniform(region->param(0))) Scatter(op, Obstacle::Kind::TrapInLoop);
}

namespace {

/// Returns whether the number is only used as part of the index of stores of an `append`.
bool IsOnlyPlace(const Value* number) {
  return std::ranges::all_of(number->uses(), [](const ir::Use& use) {
    const Op* user = use.user;
    if (user->kind() == OpKind::Add) return IsOnlyPlace(user->result());
    bool is_store = user->kind() == OpKind::Store && user->HasAttr(AttrKey::Append);
    return is_store && use.operand != ir::StoreOp::at_value;
  });
}

}  // namespace

/// Returns whether the scan numbers the elements that an `append` writes along the axis. Only the number of a vector's
/// first element is then needed, so the result is the same for all lanes.
bool LastAxis::PlacesAppended(const Op* scan) const {
  return by_steps_ && scan_axis_ == axis_ && scan->HasAttr(AttrKey::Append) &&
         scan->attr<AttrKey::Direction>() == ir::DirectionKind::Up &&
         scan->attr<AttrKey::Keep>() == ir::KeepKind::Before &&
         UpdateLike(scan) == ir::UpdateKind::Add && IsOnlyPlace(scan->result());
}

/// Returns whether the store writes the elements that the mask selects along the axis, one after another.
bool LastAxis::IsAppended(const Op* store) const {
  return by_steps_ && store->HasAttr(AttrKey::Append) && scan_axis_ == axis_ &&
         TensorOf(store)->type()->dims.size() == 1 && AllUniform(IndexOf(store));
}

/// Analyzes a scan, whose accumulators are vectors along the axis. Only scans of integers can be vectorized along their
/// own axis.
void LastAxis::StudyScan(const Op* op) {
  if (PlacesAppended(op)) return;
  for (const Value* result : op->results()) varying_.insert(result);
  for (const Value* param : op->region()->params()) Count(param->type()->scalar);
  for (const Op* inner : *op->region()) {
    for (const Value* result : inner->results()) Count(result->type()->scalar);
  }
  bool is_along = scan_axis_ == axis_ && !(by_steps_ && ScansLanes(op));
  if (is_along || !CombinesVectors(op)) scattered_ = true;
}

void LastAxis::Study(const Op* op) {
  if (op->kind() == OpKind::While) return StudyWhile(op);
  if (op->kind() == OpKind::ScanInLoop) return StudyScan(op);
  bool varies = std::any_of(op->operands().begin(), op->operands().end(),
                            [&](const Value* operand) { return !IsUniform(operand); });
  if (op->kind() == OpKind::Element) {
    StudyElement(op);
  } else if (op->kind() == OpKind::Update) {
    Scatter(op, Obstacle::Kind::Update);
  } else if (op->HasAttr(AttrKey::BoundsMode)) {
    StudyAccess(op);
  } else if (varies && MayTrap(op) && op->kind() != OpKind::Assert) {
    Scatter(op, Obstacle::Kind::Trap);
  }
  if (op->kind() == OpKind::ReduceInLoop) return;  // its accumulators are not part of the body
  bool is_read = op->kind() == OpKind::Element || op->HasAttr(AttrKey::BoundsMode);
  for (const Value* result : op->results()) {
    if (varies) varying_.insert(result);
    is_read ? Count(result->type()->scalar) : CountComputed(result);
  }
  bool touches = op->kind() == OpKind::Store || op->kind() == OpKind::Prefetch;
  if (touches) Count(op->operand(0)->type()->scalar);
  if (op->kind() == OpKind::Store)
    stored_bytes_ = std::max<int64_t>(stored_bytes_, kdl::Bytes(op->operand(0)->type()->scalar));
  if (op->kind() == OpKind::Yield) {
    for (const Value* value : op->operands()) {
      if (!IsFolded(value)) Count(value->type()->scalar);
    }
  }
}

std::optional<int64_t> LastAxis::StepOf(const Value* value) const {
  if (IsUniform(value)) return 0;
  if (value == point_) return 1;
  const Op* def = value->def();
  if (!def) return std::nullopt;
  if (def->kind() == OpKind::Mul) {
    std::optional<int64_t> factor = passes::ConstantOf(def->operand(0));
    std::optional<int64_t> step = StepOf(def->operand(1));
    bool is_small = factor && step == 1 && *factor >= 0 && *factor <= kLargestStep;
    return is_small ? factor : std::nullopt;
  }
  if (def->kind() != OpKind::Add && def->kind() != OpKind::Sub) return std::nullopt;
  std::optional<int64_t> a = StepOf(def->operand(0));
  std::optional<int64_t> b = StepOf(def->operand(1));
  if (!a || !b) return std::nullopt;
  return def->kind() == OpKind::Add ? *a + *b : *a - *b;
}

/// Finds the axis of the tile along which an element moves. It must move to adjacent elements, or by a few elements.
void LastAxis::StudyElement(const Op* op) {
  auto point = op->Segment(ir::ElementOp::at_point);
  const AxisList& axes = op->operand(0)->type()->axes;
  for (size_t i = 0; i < axes.size(); ++i) {
    std::optional<int64_t> step = StepOf(point[i]);
    if (step == 0) continue;
    bool fits = step && *step >= 1 && *step <= (by_steps_ ? kLargestStep : 1);
    if (!fits || !moving_.emplace(op, Movement{axes[i], *step}).second)
      Scatter(op, Obstacle::Kind::Stride);
  }
}

std::optional<AxisId> LastAxis::MovesAlong(const Op* element) const {
  auto found = moving_.find(element);
  return found == moving_.end() ? std::nullopt : std::optional(found->second.axis);
}

int64_t LastAxis::ElementStep(const Op* element) const { return moving_.at(element).step; }

/// Updates the size of the widest type in the body. Indices and conditions are ignored, because they adapt to
/// the width of the other values.
void LastAxis::Count(Scalar scalar) {
  if (scalar != Scalar::I64 && scalar != Scalar::Bool)
    bytes_ = std::max<int64_t>(bytes_, kdl::Bytes(scalar));
}

/// Counts a value that is neither read nor written. An integer may be twice as wide as the elements in memory:
/// it then takes two registers, which is faster than half a vector of elements, and LLVM often finds
/// instructions that need no wide integer at all. The accumulators of a reduction are wide anyway.
void LastAxis::CountComputed(const Value* value) {
  Scalar scalar = value->type()->scalar;
  bool is_wide = IsInteger(scalar) && scalar != Scalar::I64;
  if (!is_wide) {
    Count(scalar);
  } else if (!only_folds_) {
    bytes_ = std::max<int64_t>(bytes_, kdl::Bytes(scalar) / 2);
  }
}

void LastAxis::StudyAccess(const Op* op) {
  if (IsAppended(op)) return;
  auto index = IndexOf(op);
  ir::Access access = op->attr<AttrKey::Access>();
  Stride walk = Stride::Still;
  for (const ir::AccessDim& dim : access.dims) {
    for (const ir::AccessTerm& term : dim.terms) {
      const Value* operand = index[term.operand];
      if (IsUniform(operand)) continue;
      bool last = &dim == &access.dims.back();
      Stride here = operand != point_                 ? Stride::Otherwise
                    : !last                           ? Stride::RowToRow
                    : IsConstant(term.coefficient, 1) ? Stride::SideBySide
                                                      : Stride::Otherwise;
      walk = walk == Stride::Still ? here : Stride::Otherwise;
    }
  }
  bool is_load = op->kind() == OpKind::Load;
  auto mask = op->Segment(is_load ? size_t{ir::LoadOp::at_mask} : size_t{ir::StoreOp::at_mask});
  if (walk == Stride::SideBySide) {
    // The check of a store is in a branch if one condition decides about all of its lanes.
    bool has_branch = !is_load && AllUniform(mask);
    if (op->attr<AttrKey::BoundsMode>() == BoundsMode::Guard && !mask.empty() && !has_branch)
      Scatter(op, Obstacle::Kind::GuardedMask);
  } else if (walk == Stride::Still) {
    bool fits = is_load && AllUniform(mask) && AllUniform(op->Segment(ir::LoadOp::at_otherwise));
    if (!fits) Scatter(op, Obstacle::Kind::SameElement);
  } else if (walk == Stride::RowToRow && mask.empty() && WalksRows(op)) {
    across_.push_back(op);
  } else if (by_steps_ && mask.empty() && (WalksBySteps(op) || Repeats(op))) {
    return;
  } else if (is_load && mask.empty() && op->attr<AttrKey::BoundsMode>() != BoundsMode::Else) {
    gathered_.push_back(op);
    obstacles_.push_back({op, ObstacleOfAccess(op)});
  } else if (op->HasAttr(AttrKey::Append)) {
    scattered_ = true;  // there is nothing that the user could write instead
  } else {
    Scatter(op, ObstacleOfAccess(op));
  }
}

void LastAxis::Scatter(const Op* op, Obstacle::Kind why) {
  scattered_ = true;
  obstacles_.push_back({op, why});
}

/// Returns why the elements of an access whose index varies along the axis are not contiguous.
Obstacle::Kind LastAxis::ObstacleOfAccess(const Op* op) const {
  ir::Access access = op->attr<AttrKey::Access>();
  std::unordered_set<const Value*> visited;
  bool is_in_last = false;
  bool is_in_others = false;
  for (const ir::AccessDim& dim : access.dims) {
    for (const ir::AccessTerm& term : dim.terms) {
      const Value* operand = IndexOf(op)[term.operand];
      if (IsUniform(operand)) continue;
      if (operand != point_)
        return ComesFromMemory(operand, visited) ? Obstacle::Kind::DataIndex
                                                 : Obstacle::Kind::ComputedIndex;
      (&dim == &access.dims.back() ? is_in_last : is_in_others) = true;
    }
  }
  return is_in_last && !is_in_others ? Obstacle::Kind::Stride : Obstacle::Kind::Rows;
}

/// Whether the elements of an access that goes to a different row in each iteration can be transposed in
/// registers. The last dimension must be indexed only by an axis of the loop other than its last one, and no
/// element may be out of bounds. The indices must be known before the body begins, so that rows can be loaded
/// before the body or stored after it. The accesses in `Across()` must be either all loads or all stores, unless
/// the body has scans. Then no load may read what a store before it has written.
bool LastAxis::WalksRows(const Op* op) {
  auto bounds_mode = op->attr<AttrKey::BoundsMode>();
  if (bounds_mode != BoundsMode::Proven && bounds_mode != BoundsMode::Clip) return false;
  ir::Access access = op->attr<AttrKey::Access>();
  const ir::AccessDim& last = access.dims.back();
  if (last.terms.size() != 1 || !IsConstant(last.terms[0].coefficient, 1)) return false;
  auto index = IndexOf(op);
  const Value* side = index[last.terms[0].operand];
  const auto& points = elementwise_->region()->params();
  auto found = std::find(points.begin(), points.end(), side);
  if (found == points.end()) return false;
  for (const ir::AccessDim& dim : access.dims) {
    for (const ir::AccessTerm& term : dim.terms) {
      const Value* operand = index[term.operand];
      bool computed = operand->def() && operand->def()->parent_region() == elementwise_->region();
      if (computed || (&dim != &last && operand == side)) return false;
    }
  }
  auto axis = static_cast<size_t>(found - points.begin());
  if (scan_axis_) {
    bool is_written =
        op->kind() == OpKind::Load && std::ranges::any_of(across_, [&](const Op* other) {
          return other->kind() == OpKind::Store && TensorOf(other) == TensorOf(op);
        });
    if (is_written || elementwise_->operand(axis)->type()->axes[0] != *scan_axis_) return false;
  } else if (!across_.empty() && (across_axis_ != axis || across_[0]->kind() != op->kind())) {
    return false;
  }
  across_axis_ = axis;
  return true;
}

/// Whether the elements of an access are a constant, small number of elements apart along the axis, and all
/// exist. If so, adds the access to those that are grouped.
bool LastAxis::WalksBySteps(const Op* op) {
  auto bounds_mode = op->attr<AttrKey::BoundsMode>();
  bool exist = bounds_mode == BoundsMode::Proven || bounds_mode == BoundsMode::Clip;
  if (!exist || (op->kind() != OpKind::Load && op->kind() != OpKind::Store)) return false;
  auto index = IndexOf(op);
  ir::Access access = op->attr<AttrKey::Access>();
  int64_t step = 0;
  for (const ir::AccessDim& dim : access.dims) {
    for (const ir::AccessTerm& term : dim.terms) {
      if (IsUniform(index[term.operand])) continue;
      bool is_step = step == 0 && index[term.operand] == point_ && &dim == &access.dims.back() &&
                     IsConstant(term.coefficient);
      if (!is_step) return false;
      step = term.coefficient->value;
    }
  }
  if (step < 2 || step > kLargestStep) return false;
  stepped_.push_back({op, step});
  return true;
}

/// Whether the load's elements are vectors if points are taken `repeats` points apart, and all elements exist. If so,
/// notes how many points that are.
bool LastAxis::Repeats(const Op* op) {
  constexpr int64_t kMostRepeats = 4;
  auto bounds_mode = op->attr<AttrKey::BoundsMode>();
  bool exist = bounds_mode == BoundsMode::Proven || bounds_mode == BoundsMode::Clip;
  if (!exist || op->kind() != OpKind::Load) return false;
  auto index = IndexOf(op);
  ir::Access access = op->attr<AttrKey::Access>();
  std::optional<Period> sum = Period{};
  for (const ir::AccessDim& dim : access.dims) {
    for (const ir::AccessTerm& term : dim.terms) {
      if (IsUniform(index[term.operand])) continue;
      std::optional<Period> period = PeriodOf(index[term.operand]);
      bool fits = period && &dim == &access.dims.back() && IsConstant(term.coefficient);
      sum = fits ? SumOf(*sum, *period, term.coefficient->value) : std::nullopt;
      if (!sum) return false;
    }
  }
  bool fits = sum->advance == 1 && sum->points > 1 && sum->points <= kMostRepeats;
  if (fits) repeats_[op] = sum->points;
  return fits;
}

std::optional<Period> LastAxis::PeriodOf(const Value* value) const {
  if (IsUniform(value)) return Period{};
  if (value == point_) return Period{.points = 1, .advance = 1};
  const Op* def = value->def();
  if (!def || def->operands().size() != 2) return std::nullopt;
  std::optional<Period> a = PeriodOf(def->operand(0));
  std::optional<Period> b = PeriodOf(def->operand(1));
  if (!a || !b) return std::nullopt;
  std::optional<int64_t> number = passes::ConstantOf(def->operand(1));
  switch (def->kind()) {
    case OpKind::Add:
      return SumOf(*a, *b, 1);
    case OpKind::Sub:
      return SumOf(*a, *b, -1);
    case OpKind::Mul:
      if (number) return SumOf({}, *a, *number);
      number = passes::ConstantOf(def->operand(0));
      return number ? SumOf({}, *b, *number) : std::nullopt;
    case OpKind::Div:
      return number ? QuotientOf(*a, *number) : std::nullopt;
    case OpKind::Rem:
      return number ? RemainderOf(*a, *number) : std::nullopt;
    default:
      return std::nullopt;
  }
}

int64_t LastAxis::MostRepeats() const {
  int64_t most = 1;
  for (const auto& [load, repeats] : repeats_) most = std::max(most, repeats);
  return most;
}

const StepGroup* LastAxis::StepGroupOf(const Op* op) const {
  auto found = std::ranges::find_if(
      step_groups_, [&](const StepGroup& group) { return group.OffsetOf(op).has_value(); });
  return found == step_groups_.end() ? nullptr : &*found;
}

bool LastAxis::AllUniform(std::span<Value* const> values) const {
  return std::all_of(values.begin(), values.end(),
                     [&](const Value* value) { return IsUniform(value); });
}

}  // namespace kdl::cpu
