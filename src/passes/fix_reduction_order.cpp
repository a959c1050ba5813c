#include <array>
#include <span>
#include <unordered_set>

#include "ir/views.h"
#include "passes/groups/kept_variables.h"
#include "passes/passes.h"

// fix-reduction-order: reduces in 64-lane order (`lanes64`) where the memory layout makes that fast,
// otherwise in sequential order (`sequential`). A reduction with a fn is always sequential, because the fn
// need not be commutative. The choice depends only on the source, not on a target or a tile size, so that
// every device computes the same bits:
//
//   reduce sum %x over r, c {order = open}   where %x is computed from   load %t[%r, %c + 1], load %u[%c]
//   -> lanes64: c, the last axis of the list, is the last index (optionally plus constants) of every tensor that has it
//
// A contraction whose result has two or more axes is always sequential, because its vector lanes compute
// different columns of the result. The minimum or maximum of all elements is the same in any order, and 64
// lanes find it faster.

namespace kdl::passes {

namespace {

enum class Verdict { NoTensorHasIt, LastInAll, NotLast };

Verdict Join(Verdict a, Verdict b) {
  if (a == Verdict::NotLast || b == Verdict::NotLast) return Verdict::NotLast;
  return a == Verdict::LastInAll || b == Verdict::LastInAll ? Verdict::LastInAll
                                                            : Verdict::NoTensorHasIt;
}

bool HasAxis(const Value* value, ir::AxisId axis) {
  const auto& axes = value->type()->axes;
  return Contains(axes, axis);
}

bool IsConstantScalar(const Value* value) {
  return value->def() && value->def()->kind() == OpKind::Const;
}

/// Returns whether the dimension's index is exactly the axis, optionally plus constants.
bool IsAxisPlusConstants(const ir::LoadOp& load, const ir::AccessDim& dim, ir::AxisId axis) {
  bool has_axis = false;
  for (const ir::AccessTerm& term : dim.terms) {
    const Value* operand = load.index()[term.operand];
    if (operand->type()->kind == ir::TypeKind::Block && HasAxis(operand, axis)) {
      if (has_axis || !IsConstant(term.coefficient, 1)) return false;
      has_axis = true;
    } else if (!IsConstantScalar(operand)) {
      return false;
    }
  }
  return has_axis;
}

Verdict JudgeLoad(const ir::LoadOp& load, ir::AxisId axis) {
  bool mentioned = false;
  for (const Value* operand : load.index()) mentioned = mentioned || HasAxis(operand, axis);
  if (!mentioned) return Verdict::NoTensorHasIt;
  ir::Access access = load->attr<ir::AttrKey::Access>();
  for (size_t d = 0; d + 1 < access.dims.size(); ++d) {
    for (const ir::AccessTerm& term : access.dims[d].terms) {
      if (HasAxis(load.index()[term.operand], axis)) return Verdict::NotLast;
    }
  }
  return IsAxisPlusConstants(load, access.dims.back(), axis) ? Verdict::LastInAll
                                                             : Verdict::NotLast;
}

/// A tile stores its elements in the order of its axes, so the reduced axis must be the last axis of the
/// tile.
Verdict JudgePop(const Op* pop, ir::AxisId axis) {
  return pop->attr<ir::AttrKey::Axes>().back() == axis ? Verdict::LastInAll : Verdict::NotLast;
}

/// Returns whether the value is carried by a loop or branch. Reductions and scans do not count, although they
/// have regions: their results depend only on their operands.
bool IsCarried(const Op* def) {
  return !def->regions().empty() && def->kind() != OpKind::MultiReduce &&
         def->kind() != OpKind::Scan;
}

/// Follows the operands from which the value is computed. Stops at variables (`snapshot`) and at loop-carried
/// values.
Verdict Judge(const Value* value, ir::AxisId axis, std::unordered_set<const Value*>& seen) {
  Op* def = value->def();
  if (!def || !seen.insert(value).second || !HasAxis(value, axis)) return Verdict::NoTensorHasIt;
  if (def->kind() == OpKind::Snapshot || IsCarried(def)) return Verdict::NoTensorHasIt;
  if (def->kind() == OpKind::Pop) return JudgePop(def, axis);
  Verdict verdict = Verdict::NoTensorHasIt;
  if (auto load = ir::DynAs<ir::LoadOp>(def)) {
    verdict = JudgeLoad(*load, axis);
    if (load->otherwise()) verdict = Join(verdict, Judge(load->otherwise(), axis, seen));
    return verdict;
  }
  for (const Value* operand : def->operands()) verdict = Join(verdict, Judge(operand, axis, seen));
  return verdict;
}

/// Returns whether the reduction computes the minimum or maximum of all elements, which is the same in any
/// order.
bool IsOneExtremum(const ir::ReduceOp& reduce) {
  auto fold = reduce->attr<ir::AttrKey::Reduction>();
  bool any_order = fold == ir::ReductionKind::Max || fold == ir::ReductionKind::Min;
  return any_order && reduce->result()->type()->axes.empty();
}

ir::OrderKind ReductionOrderOf(const Op* op, std::span<Value* const> reduced) {
  ir::AxisId last = op->attr<ir::AttrKey::Axes>().back();
  std::unordered_set<const Value*> seen;
  Verdict verdict = Verdict::NoTensorHasIt;
  for (const Value* value : reduced) verdict = Join(verdict, Judge(value, last, seen));
  return verdict == Verdict::LastInAll ? ir::OrderKind::Lanes64 : ir::OrderKind::Sequential;
}

void Decide(Op* op) {
  if (auto reduce = ir::DynAs<ir::ReduceOp>(op)) {
    op->SetAttr(ir::MakeAttr<ir::AttrKey::Order>(
        IsOneExtremum(*reduce) ? ir::OrderKind::Lanes64 : ReductionOrderOf(op, op->operands())));
  } else if (auto contraction = ir::DynAs<ir::ContractionOp>(op)) {
    bool wide = op->result()->type()->axes.size() >= 2;
    op->SetAttr(ir::MakeAttr<ir::AttrKey::Order>(
        wide ? ir::OrderKind::Sequential
             : ReductionOrderOf(op, std::array{contraction->a(), contraction->b()})));
  }
}

}  // namespace

void RunFixReductionOrder(PassContext& context) {
  for (ir::Function* function : context.module.functions()) {
    ir::Walk(function->body, [](Op* op) {
      if (const ir::Attr* order = op->FindAttr(ir::AttrKey::Order)) {
        if (std::get<int64_t>(order->value) == static_cast<int64_t>(ir::OrderKind::Open))
          Decide(op);
      }
    });
    ir::Walk(function->body, [](Op* op) {
      if (op->kind() != OpKind::Snapshot) return;
      op->result()->ReplaceAllUsesWith(op->operand(0));
      ir::Erase(op);
    });
    MarkKeptVariables(*function, context.module.types().sizes());
  }
}

}  // namespace kdl::passes
