#include <array>
#include <span>
#include <unordered_set>

#include "ir/views.h"
#include "passes/passes.h"

// fix-reduction-order: a reduction folds in `lanes64` where memory order makes that fast, else in a `chain`; so does a fold with a fn,
// which need not commute. The rule sees the source alone (never a target or a tile size), so that every device computes the same bits:
//
//   reduce sum %x over r, c {order = open}   with   %x made of   load %t[%r, %c + 1], load %u[%c]
//   -> lanes64: c, the last of the list, is the last index, plain or plus constants, of every tensor that has it.
//
// A contraction whose result has two axes or more is always a chain: its lanes are columns. The largest or smallest of all elements is the same in any order: in lanes it is found sooner.

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

/// The dimension's index is the axis itself, plain or plus constants.
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

/// A popped tile's last position is its last index.
Verdict JudgePop(const Op* pop, ir::AxisId axis) {
  return pop->attr<ir::AttrKey::Axes>().back() == axis ? Verdict::LastInAll : Verdict::NotLast;
}

/// Of a loop or branch. What a fold or scan makes comes of its operands, as with any other op.
bool IsCarried(const Op* def) {
  return !def->regions().empty() && def->kind() != OpKind::MultiReduce &&
         def->kind() != OpKind::Scan;
}

/// Follows what the value is made of, through everything but a var (`snapshot`) and what loops carry.
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

/// Whether all elements go into one number, the same in any order.
bool IsOneExtremum(const ir::ReduceOp& reduce) {
  auto fold = reduce->attr<ir::AttrKey::Reduction>();
  bool any_order = fold == ir::ReductionKind::Max || fold == ir::ReductionKind::Min;
  return any_order && reduce->result()->type()->axes.empty();
}

ir::OrderKind OrderOf(const Op* op, std::span<Value* const> reduced) {
  ir::AxisId last = op->attr<ir::AttrKey::Axes>().back();
  std::unordered_set<const Value*> seen;
  Verdict verdict = Verdict::NoTensorHasIt;
  for (const Value* value : reduced) verdict = Join(verdict, Judge(value, last, seen));
  return verdict == Verdict::LastInAll ? ir::OrderKind::Lanes64 : ir::OrderKind::Sequential;
}

void Decide(Op* op) {
  if (auto reduce = ir::DynAs<ir::ReduceOp>(op)) {
    op->SetAttr(ir::MakeAttr<ir::AttrKey::Order>(
        IsOneExtremum(*reduce) ? ir::OrderKind::Lanes64 : OrderOf(op, op->operands())));
  } else if (auto contraction = ir::DynAs<ir::ContractionOp>(op)) {
    bool wide = op->result()->type()->axes.size() >= 2;
    op->SetAttr(ir::MakeAttr<ir::AttrKey::Order>(
        wide ? ir::OrderKind::Sequential
             : OrderOf(op, std::array{contraction->a(), contraction->b()})));
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
  }
}

}  // namespace kdl::passes
