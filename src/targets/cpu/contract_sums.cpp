#include <algorithm>

#include "ir/builder.h"
#include "ir/lookup.h"
#include "ir/views.h"
#include "passes/rewriting/drop_unused.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/passes.h"

// contract-sums: turns integer sums of products of two tiles into contractions, so that `sum(a * b over k)` is
// computed like `dot(a, b over k)`: by matrix instructions and in registers, without a tile of all products. The
// order of the terms does not matter, because integers wrap.
//
//   %t = mul %a, %b : tile<i32; i k j> ; %s = reduce sum %t over k : tile<i32; i j> ; %n = add %m, %s
//   ->
//   %n = contraction %a, %b into %m over k : tile<i32; i j>

namespace kdl::cpu {

namespace {

/// Returns the value before it was copied along further axes.
Value* BeforeBroadcast(Value* value) {
  const Op* def = value->def();
  return def && def->kind() == OpKind::Broadcast ? def->operand(0) : value;
}

/// Whether the factors are those of a matrix product: both have all reduced axes, and each has an axis that the
/// other one lacks. Other products are as fast as sums.
bool IsMatrixProduct(const Value* a, const Value* b, const AxisList& over) {
  auto lacks_one = [](const AxisList& axes, const AxisList& others) {
    return std::ranges::any_of(others, [&](AxisId axis) { return !Contains(axes, axis); });
  };
  const AxisList& of_a = a->type()->axes;
  const AxisList& of_b = b->type()->axes;
  return !lacks_one(of_a, over) && !lacks_one(of_b, over) && lacks_one(of_a, of_b) &&
         lacks_one(of_b, of_a);
}

bool IsIntegerSum(const Op* op) {
  return op->attr<AttrKey::Reduction>() == ir::ReductionKind::Sum &&
         IsInteger(op->attr<AttrKey::Acc>()) &&
         op->operand(0)->type()->scalar == op->attr<AttrKey::Acc>();
}

/// If the sum is only added to another tile in the same region, returns that addition, otherwise null.
Op* AdditionOf(const Op* sum) {
  const std::vector<ir::Use>& uses = sum->result()->uses();
  Op* user = uses.size() == 1 ? uses[0].user : nullptr;
  bool adds = user && user->kind() == OpKind::Add &&
              user->parent_region() == sum->parent_region() &&
              user->operand(1 - uses[0].operand)->type() == sum->result()->type();
  return adds ? user : nullptr;
}

bool Contract(ir::Module& module, Op* sum) {
  const Op* product = sum->operand(0)->def();
  if (!IsIntegerSum(sum) || !product || product->kind() != OpKind::Mul) return false;
  AxisList over = sum->attr<AttrKey::Axes>();
  Value* a = BeforeBroadcast(product->operand(0));
  Value* b = BeforeBroadcast(product->operand(1));
  if (!IsMatrixProduct(a, b, over)) return false;
  Op* addition = AdditionOf(sum);
  Op* last = addition ? addition : sum;
  ir::Builder builder(module, last);
  auto acc = sum->attr<AttrKey::Acc>();
  Value* into = addition ? addition->operand(addition->operand(0) == sum->result() ? 1 : 0)
                         : builder.Broadcast(builder.Int(acc, 0), sum->result()->type()->axes);
  Value* contraction =
      builder.Make(OpKind::Contraction, {a, b, into}, sum->result()->type(),
                   {ir::MakeAttr<AttrKey::Axes>(over), ir::MakeAttr<AttrKey::Acc>(acc),
                    ir::MakeAttr<AttrKey::Order>(ir::OrderKind::Sequential)});
  contraction->set_name(last->result()->name());
  last->result()->ReplaceAllUsesWith(contraction);
  return true;
}

}  // namespace

void RunContractSums(PassContext& context, ir::Function& kernel) {
  bool changed = false;
  for (Op* op : passes::OpsOfKind(kernel, OpKind::Reduce)) changed |= Contract(context.module, op);
  if (changed) passes::DropUnused(kernel.body);
}

}  // namespace kdl::cpu
