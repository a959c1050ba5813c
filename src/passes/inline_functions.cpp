#include "ir/views.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/check.h"

// inline-functions: a call is replaced by the fn's body, mapped over the union of the call's axes:
//
//   fn @half.f32 (%x: f32) -> f32 { %c = const 0.5 : f32 ; %y = mul %x, %c : f32 ; return %y }
//   %r = call @half.f32(%t) : tile<f32; i>
//   ->  %c = const 0.5 : f32 ; %y = mul %t, %c : tile<f32; i>
//
// Where the call has a mask, the body must not trap outside it: divisors are 1 there.

namespace kdl::passes {

namespace {

using ir::CallOp;
using ir::Op;
using ir::OpKind;
using ir::Value;

/// The call runs only where `mask` holds as well.
void AddMask(CallOp call, ir::Builder& builder, Value* mask) {
  Value* own = call.mask();
  Value* both = own ? builder.Binary(OpKind::And, mask, own) : mask;
  call->SetSegment(CallOp::at_mask, {&both, 1});
  for (Value* result : call->results()) {
    ir::Type type = result->type();
    result->set_type(
        builder.types().Tile(type->scalar, ir::UnionAxes(type->axes, both->type()->axes)));
  }
  if (both != mask) {
    call->block()->Remove(both->def());
    call->block()->InsertBefore(both->def(), call.op);
  }
}

Op* InlineOp(const Op* op, ir::Builder& builder, const ir::ValueMap& map, Value* mask) {
  KDL_CHECK(op->regions().empty(), "'{}' in a fn: only straight bodies are inlined",
            op->info().spelling);
  bool divides = (op->kind() == OpKind::Div || op->kind() == OpKind::Rem) &&
                 IsInteger(op->result()->type()->scalar);
  if (!mask || !divides) return CloneRetyped(op, builder, map);
  ir::ValueMap masked = map;
  Value* divisor = Mapped(map, op->operand(1));
  masked[op->operand(1)] = builder.Select(mask, divisor, builder.Int(divisor->type()->scalar, 1));
  return CloneRetyped(op, builder, masked);
}

/// Puts the body in place of the call; calls in it are added to `calls`.
void Inline(CallOp call, ir::Module& module, std::vector<Op*>& calls) {
  const ir::Function* fn = module.FindFunction(call->attr<ir::AttrKey::Callee>());
  ir::Builder builder(module);
  builder.SetInsertionPoint(call.op);
  builder.set_loc(call->loc());
  ir::ValueMap map;
  for (size_t i = 0; i < call.arguments().size(); ++i) {
    map[fn->body->param(i)] = call.arguments()[i];
  }
  for (const Op* op : *fn->body) {
    if (op->info().has(ir::kTerminator)) break;
    Op* copy = InlineOp(op, builder, map, call.mask());
    if (copy->kind() == OpKind::Call) {
      if (call.mask()) AddMask(CallOp(copy), builder, call.mask());
      calls.push_back(copy);
    }
    for (size_t i = 0; i < op->results().size(); ++i) map[op->result(i)] = copy->result(i);
  }
  for (size_t i = 0; i < call->results().size(); ++i) {
    Value* value = Mapped(map, fn->body->terminator()->operand(i));
    Value* result = call->result(i);
    result->ReplaceAllUsesWith(builder.Broadcast(value, result->type()->axes));
  }
  ir::Erase(call.op);
}

}  // namespace

void RunInlineFunctions(PassContext& context, ir::Function& kernel) {
  std::vector<Op*> calls = OpsOfKind(kernel, OpKind::Call);
  while (!calls.empty()) {
    Op* call = calls.back();
    calls.pop_back();
    Inline(CallOp(call), context.module, calls);
  }
}

}  // namespace kdl::passes
