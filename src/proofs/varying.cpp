#include "proofs/varying.h"

#include <algorithm>

#include "ir/views.h"
#include "proofs/deciding.h"
#include "proofs/value_numbers.h"

namespace kdl::proofs {

namespace {

bool IsCarrying(const Op* op) {
  return op->kind() == OpKind::For || op->kind() == OpKind::Loop || op->kind() == OpKind::While;
}

/// Returns the number of operands that determine the iterations of a loop.
size_t BoundCount(const Op* loop) {
  return loop->kind() == OpKind::For    ? size_t{ir::ForOp::at_inits}
         : loop->kind() == OpKind::Loop ? size_t{ir::LoopOp::at_inits}
                                        : 0;
}

std::span<Value* const> BoundsIn(const Op* loop) {
  return std::span<Value* const>(loop->operands()).first(BoundCount(loop));
}

}  // namespace

Varying::Varying(const ir::Function& kernel, By by) : by_(by) {
  for (size_t before = SIZE_MAX; before != values_.size();) {
    before = values_.size();
    ir::Walk(kernel.body, [this](const Op* op) { Visit(op); });
  }
}

bool Varying::IsSource(const Op* op) const {
  bool is_of_core = op->kind() == OpKind::CoreId || op->kind() == OpKind::Pop;
  bool is_written = op->kind() == OpKind::Load && !IsInput(op->operand(0));
  return is_of_core || (by_ == By::Memory && is_written);
}

bool Varying::AnyVaries(std::span<Value* const> values) const {
  return std::ranges::any_of(values, [this](const Value* value) { return IsVarying(value); });
}

/// Whether an axis of the op's results has varying blocks. This has to be checked in addition to the
/// operands, because blocks of tiles are not operands of the ops that compute the tiles.
bool Varying::HasVaryingAxis(const Op* op) const {
  return std::ranges::any_of(op->results(), [this](const Value* result) {
    return std::ranges::any_of(result->type()->axes,
                               [this](ir::AxisId axis) { return axes_.contains(axis); });
  });
}

void Varying::Add(const Value* value) {
  values_.insert(value);
  if (value->type()->kind == ir::TypeKind::Block) axes_.insert(value->type()->axes[0]);
}

void Varying::AddResults(const Op* op) {
  for (const Value* result : op->results()) Add(result);
}

void Varying::Visit(const Op* op) {
  if (op->kind() == OpKind::If) return VisitBranches(op);
  if (IsCarrying(op)) return VisitLoop(op);
  bool varies = IsSource(op) || AnyVaries(op->operands()) || HasVaryingAxis(op);
  for (const ir::Region* region : op->regions())
    varies = varies || (region->terminator() && AnyVaries(region->terminator()->operands()));
  if (!varies) return;
  AddResults(op);
  for (const ir::Region* region : op->regions())
    values_.insert(region->params().begin(), region->params().end());
}

void Varying::VisitBranches(const Op* op) {
  for (const Value* result : op->results()) {
    auto given = [&](size_t r) { return op->region(r)->terminator()->operand(result->index()); };
    if (IsVarying(op->operand(0)) || IsVarying(given(0)) || IsVarying(given(1))) Add(result);
  }
}

/// Finds the varying values of a loop. A loop-carried value varies if its initial value or the value that an
/// iteration yields for it varies.
void Varying::VisitLoop(const Op* loop) {
  size_t bounds = BoundCount(loop);
  size_t binders = bounds == 0 ? 0 : 1;
  const ir::Region* iteration = loop->region();
  if (binders == 1 && AnyVaries(BoundsIn(loop))) Add(iteration->param(0));
  for (const Value* result : loop->results()) {
    size_t i = result->index();
    if (!IsVarying(loop->operand(bounds + i)) && !IsVarying(iteration->terminator()->operand(i)))
      continue;
    Add(iteration->param(binders + i));
    Add(result);
  }
  if (IterationsVary(loop)) AddResults(loop);
}

bool Varying::IterationsVary(const Op* loop) const {
  size_t binders = BoundCount(loop) == 0 ? 0 : 1;
  return AnyVaries(BoundsIn(loop)) ||
         (EndsByValue(loop) && IsVarying(loop->region()->param(binders)));
}

bool Varying::IsAround(const Op* op) const {
  for (const Op* around = op->parent_region()->parent(); around;
       around = around->parent_region()->parent()) {
    if (around->kind() == OpKind::If && IsVarying(around->operand(0))) return true;
    if (IsCarrying(around) && IterationsVary(around)) return true;
  }
  return false;
}

}  // namespace kdl::proofs
