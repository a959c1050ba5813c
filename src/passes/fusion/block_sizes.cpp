#include "passes/fusion/block_sizes.h"

#include <algorithm>

#include "ir/views.h"
#include "passes/analysis/visible_sizes.h"
#include "passes/rewriting/rewrite.h"

// The compiler may choose another size for `k in K by auto` in a fused kernel. These ops have the same effect for all
// sizes:
//
//   elementwise ops, loads and stores
//   s += dot(a, b over k)        in sequential order, for a variable s of the loop
//   n += sum(e over k)           for integers, and max and min for all types
//
// The others that concern a block of k, such as sums of floats, scans, `t[k = k - 1 else 0]` and `k.size`, may depend on
// the size. So may all other uses of variables that the loop over k changes, stores of something in each block, and
// computations with the size itself.

namespace kdl::passes {

namespace {

class SizeDependence {
 public:
  explicit SizeDependence(const ir::Function& kernel) : kernel_(kernel) {}

  const Op* First() const {
    const Op* first = nullptr;
    ir::Walk(kernel_.body, [&](const Op* op) {
      if (!first) first = DependentIn(op);
    });
    return first;
  }

 private:
  bool IsChosen(AxisId axis) const {
    Size extent = kernel_.axis(axis).extent;
    return extent && !IsConstant(extent);
  }

  bool HasChosen(AxisList axes) const {
    return std::ranges::any_of(axes, [&](AxisId axis) { return IsChosen(axis); });
  }

  /// Returns the op itself, or an op that uses a variable of this loop. Returns null if neither depends on a size.
  const Op* DependentIn(const Op* op) const {
    if (UsesChosen(op)) return op;
    switch (op->kind()) {
      case OpKind::BlockStart:
      case OpKind::BlockSize:
      case OpKind::BlockIndex:
        return HasChosen(op->operand(0)->type()->axes) ? op : nullptr;
      case OpKind::Reduce:
      case OpKind::Contraction:
      case OpKind::MultiReduce:
      case OpKind::Scan:
      case OpKind::Gather:
        return HasChosen(op->attr<AttrKey::Axes>()) && !AddsToVariable(op) ? op : nullptr;
      case OpKind::Update:
        return IsInChosenLoop(op) && !IsExactUpdate(op) ? op : nullptr;
      case OpKind::For:
        if (!OverChosen(op)) return nullptr;
        if (const Op* dependent = DependentOnIterations(op)) return dependent;
        return AccessThatShowsBlocks(op);
      default:
        return nullptr;
    }
  }

  /// Returns whether an op computes with the size of blocks that the compiler chooses.
  bool UsesChosen(const Op* op) const {
    return UsesNumber(op, [&](Name name) {
      return std::ranges::any_of(kernel_.generics, [&](const ir::Generic& generic) {
        return generic.name == name && generic.is_auto && generic.values.empty();
      });
    });
  }

  bool OverChosen(const Op* loop) const {
    return std::ranges::any_of(loop->region()->params(), [&](const Value* param) {
      return IsBlock(param) && HasChosen(param->type()->axes);
    });
  }

  static bool IsBlock(const Value* value) { return value->type()->kind == ir::TypeKind::Block; }

  bool IsInChosenLoop(const Op* op) const {
    for (const Op* around = op->parent_region()->parent(); around;
         around = around->parent_region()->parent()) {
      bool is_loop = around->kind() == OpKind::For || around->kind() == OpKind::Spmd;
      if (is_loop && OverChosen(around)) return true;
    }
    return false;
  }

  // -- Variables of loops ----------------------------------------------------------------------------

  const Op* DependentOnIterations(const Op* loop) const {
    if (loop->HasAttr(AttrKey::Breaks)) return loop;
    for (const Value* param : loop->region()->params()) {
      if (IsBlock(param)) continue;
      for (const ir::Use& use : param->uses()) {
        bool is_kept = use.user->kind() == OpKind::Yield && Carried(use) == param;
        if (!is_kept && !Accumulates(use.user)) return use.user;
      }
    }
    return nullptr;
  }

  /// Returns whether an op adds the values of the blocks to a variable, with the same result for all sizes.
  bool Accumulates(const Op* op) const {
    if (op->kind() == OpKind::Contraction) return AddsToVariable(op);
    for (size_t i = 0; i < op->operands().size(); ++i) {
      const Op* reduce = op->operand(i)->def();
      if (reduce && reduce->kind() == OpKind::Reduce && AddsToVariable(reduce)) return true;
    }
    return false;
  }

  /// Returns whether the result of a reduction over blocks only changes a variable of the loop over these blocks.
  bool AddsToVariable(const Op* op) const {
    if (op->kind() == OpKind::Contraction) {
      ir::ContractionOp contraction(const_cast<Op*>(op));
      return !contraction.plus() && op->attr<AttrKey::Order>() == ir::OrderKind::Sequential &&
             Replaces(op, contraction.into(), op->attr<AttrKey::Axes>());
    }
    if (op->kind() != OpKind::Reduce || op->result()->uses().size() != 1) return false;
    const Op* user = op->result()->uses()[0].user;
    return user->kind() == CombinerOf(op) && user->operands().size() == 2 &&
           Replaces(user, user->operand(user->operand(0) == op->result() ? 1 : 0),
                    op->attr<AttrKey::Axes>());
  }

  /// Returns the op that combines the results of two reductions exactly, or Yield if there is none.
  static OpKind CombinerOf(const Op* reduce) {
    bool is_float = IsFloat(reduce->result()->type()->scalar);
    switch (reduce->attr<AttrKey::Reduction>()) {
      case ir::ReductionKind::Sum:
        return is_float ? OpKind::Yield : OpKind::Add;
      case ir::ReductionKind::Prod:
        return is_float ? OpKind::Yield : OpKind::Mul;
      case ir::ReductionKind::Max:
        return OpKind::Max;
      case ir::ReductionKind::Min:
        return OpKind::Min;
      case ir::ReductionKind::Any:
        return OpKind::Or;
      case ir::ReductionKind::All:
        return OpKind::And;
    }
    return OpKind::Yield;
  }

  /// Returns whether `variable` is a variable of the loop over the blocks of `axes`, is used only by this op, and the
  /// op's result is its next value and nothing else.
  static bool Replaces(const Op* op, const Value* variable, AxisList axes) {
    if (variable->uses().size() != 1 || op->result()->uses().size() != 1) return false;
    if (Carried(op->result()->uses()[0]) != variable) return false;
    const Value* block = variable->parent_region()->param(0);
    return axes.size() == 1 && IsBlock(block) && block->type()->axes == axes;
  }

  /// Returns the variable that gets the operand of a loop's yield, or null.
  static const Value* Carried(const ir::Use& use) {
    const ir::Region* region = use.user->parent_region();
    const Op* loop = region->parent();
    if (use.user->kind() != OpKind::Yield || !loop || loop->kind() != OpKind::For) return nullptr;
    return region->param(use.operand + 1);
  }

  // -- Updates ---------------------------------------------------------------------------------------

  /// Returns whether an update concerns each element of the blocks once, in any order.
  bool IsExactUpdate(const Op* op) const {
    ir::UpdateOp update(const_cast<Op*>(op));
    ir::UpdateKind how = op->attr<AttrKey::How>();
    bool adds = how == ir::UpdateKind::Add || how == ir::UpdateKind::Mul;
    if (adds && IsFloat(update.tensor()->type()->scalar)) return false;
    return CoversBlocks(op, AxesOf(update));
  }

  /// Returns the axes over which an update is executed: an element with an index such as `bin[i]` is updated for
  /// each i, even if the value is the same for all of them.
  static AxisList AxesOf(ir::UpdateOp update) {
    AxisList axes = update.value()->type()->axes;
    for (const Value* index : update.index()) axes = ir::UnionAxes(axes, index->type()->axes);
    return update.mask() ? ir::UnionAxes(axes, update.mask()->type()->axes) : axes;
  }

  bool CoversBlocks(const Op* op, AxisList axes) const {
    for (const Op* around = op->parent_region()->parent(); around;
         around = around->parent_region()->parent()) {
      if (around->kind() != OpKind::For && around->kind() != OpKind::Spmd) continue;
      for (const Value* param : around->region()->params()) {
        if (!IsBlock(param) || !IsChosen(param->type()->axes[0])) continue;
        if (!Contains(axes, param->type()->axes[0])) return false;
      }
    }
    return true;
  }

  const ir::Function& kernel_;
};

}  // namespace

const Op* FirstThatDependsOnSize(const ir::Function& kernel) {
  return SizeDependence(kernel).First();
}

}  // namespace kdl::passes
