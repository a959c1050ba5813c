#include "ir/views.h"
#include "passes/analysis/mapped_axes.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/check.h"

// inline-functions: a call is replaced by the fn's body, mapped over the union of the call's axes:
//
//   fn @half.f32 (%x: f32) -> f32 { %c = const 0.5 : f32 ; %y = mul %x, %c : f32 ; return %y }
//   %r = call @half.f32(%t) : tile<f32; i>
//   ->  %c = const 0.5 : f32 ; %y = mul %t, %c : tile<f32; i>
//
// What a `while` carries gets the axes that its values have in any turn, and those of its condition.
// Where the call has a mask, the body must not trap outside it: divisors are 1 there, a `while` does not begin.

namespace kdl::passes {

namespace {

using ir::CallOp;

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

/// The body of one fn in place of one call.
class Inliner {
 public:
  Inliner(CallOp call, const ir::Function& fn, ir::Builder& builder, std::vector<Op*>& calls)
      : call_(call), fn_(fn), builder_(builder), calls_(calls) {
    for (size_t i = 0; i < call.arguments().size(); ++i)
      map_[fn.body->param(i)] = call.arguments()[i];
  }

  void Run() {
    CopyBody(fn_.body, call_.mask());
    for (size_t i = 0; i < call_->results().size(); ++i) {
      Value* value = Mapped(map_, fn_.body->terminator()->operand(i));
      Value* result = call_.result(i);
      result->ReplaceAllUsesWith(builder_.Broadcast(value, result->type()->axes));
    }
  }

 private:
  void CopyBody(const ir::Block* body, Value* mask) {
    for (const Op* op : *body) {
      if (op->info().has(ir::kTerminator)) break;
      Op* copy = CopyOp(op, mask);
      if (copy->kind() == OpKind::Call) {
        if (mask) AddMask(CallOp(copy), builder_, mask);
        calls_.push_back(copy);
      }
      for (size_t i = 0; i < op->results().size(); ++i) map_[op->result(i)] = copy->result(i);
    }
  }

  Op* CopyOp(const Op* op, Value* mask) {
    if (op->kind() == OpKind::While) return CopyWhile(op, mask);
    if (op->kind() == OpKind::Table)
      return CopyTable(op, *call_->block()->function(), builder_.module());
    KDL_CHECK(op->regions().empty(), "'{}' in a fn is not inlined", op->info().spelling);
    bool has_mask = op->kind() == OpKind::Assert || op->kind() == OpKind::Load;
    if (has_mask && mask && MayTrap(op)) return CopyMasked(op, mask);
    bool divides = (op->kind() == OpKind::Div || op->kind() == OpKind::Rem) &&
                   IsInteger(op->result()->type()->scalar) &&
                   ConstantOf(op->operand(1)).value_or(0) == 0;
    if (!mask || !divides) return CloneRetyped(op, builder_, map_);
    ir::ValueMap masked = map_;
    Value* divisor = Mapped(map_, op->operand(1));
    masked[op->operand(1)] =
        builder_.Select(mask, divisor, builder_.Int(divisor->type()->scalar, 1));
    return CloneRetyped(op, builder_, masked);
  }

  /// Of an op whose last operand is a mask.
  Op* CopyMasked(const Op* op, Value* mask) {
    Op* copy = CloneRetyped(op, builder_, map_);
    size_t at_mask = op->info().operands.size() - 1;
    std::span<Value* const> own = copy->Segment(at_mask);
    builder_.SetInsertionPoint(copy->block(), copy);
    Value* both = own.empty() ? mask : builder_.Binary(OpKind::And, mask, own[0]);
    builder_.SetInsertionPoint(copy->block(), copy->next());
    copy->SetSegment(at_mask, {&both, 1});
    for (Value* result : copy->results()) {
      ir::Type type = result->type();
      result->set_type(
          builder_.types().Tile(type->scalar, ir::UnionAxes(type->axes, both->type()->axes)));
    }
    return copy;
  }

  // ---- while

  Op* CopyWhile(const Op* op, Value* mask) {
    const ir::Block* region = op->region();
    ir::ValueMap around = map_;
    if (mask) {
      map_[op->operand(0)] = builder_.Binary(OpKind::And, mask, Mapped(map_, op->operand(0)));
    }
    MappedAxes axes([this](const Value* value) {
      return Mapped(map_, const_cast<Value*>(value))->type()->axes;
    });
    axes.Study(op);
    std::vector<Value*> inits;
    std::vector<ir::Type> types;
    for (size_t i = 0; i < op->results().size(); ++i) {
      inits.push_back(builder_.Broadcast(Mapped(map_, op->operand(i)), axes.Of(region->param(i))));
      types.push_back(inits[i]->type());
    }
    map_ = std::move(around);
    ir::Loc outer = builder_.loc();
    builder_.set_loc(op->loc());
    Op* copy = builder_.Create(OpKind::While, {inits}, types);
    builder_.set_loc(outer);
    CopyTurn(region, copy->region(), types);
    for (size_t i = 0; i < types.size(); ++i) copy->result(i)->set_name(op->result(i)->name());
    builder_.SetInsertionPoint(copy->block(), copy->next());
    return copy;
  }

  /// Its condition holds wherever a turn has an effect: no mask of the call is needed.
  void CopyTurn(const ir::Block* from, ir::Block* to, const std::vector<ir::Type>& types) {
    builder_.SetInsertionPoint(to);
    for (size_t i = 0; i < types.size(); ++i)
      map_[from->param(i)] = builder_.AddParam(to, types[i], from->param(i)->name());
    CopyBody(from, nullptr);
    std::vector<Value*> yielded;
    for (size_t i = 0; i < types.size(); ++i) {
      Value* value = Mapped(map_, from->terminator()->operand(i));
      yielded.push_back(builder_.Broadcast(value, types[i]->axes));
    }
    builder_.Create(OpKind::Yield, {yielded}, {});
  }

  CallOp call_;
  const ir::Function& fn_;
  ir::Builder& builder_;
  std::vector<Op*>& calls_;
  ir::ValueMap map_;
};

}  // namespace

void RunInlineFunctions(PassContext& context, ir::Function& kernel) {
  std::vector<Op*> calls = OpsOfKind(kernel, OpKind::Call);
  while (!calls.empty()) {
    CallOp call(calls.back());
    calls.pop_back();
    const ir::Function& fn = *context.module.FindFunction(call->attr<ir::AttrKey::Callee>());
    ir::Builder builder(context.module);
    builder.SetInsertionPoint(call.op);
    builder.set_loc(call->loc());
    Inliner(call, fn, builder, calls).Run();
    ir::Erase(call.op);
  }
}

}  // namespace kdl::passes
