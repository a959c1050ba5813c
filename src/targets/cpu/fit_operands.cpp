#include <algorithm>
#include <utility>

#include "ir/views.h"
#include "passes/rewrite.h"
#include "targets/cpu/passes.h"

// fit-operands: what a contraction multiplies is made as its unit takes it, once, where it is made, not at every
// multiplication. Where no instruction takes narrow floats that is the accumulator's type, and flushed where the unit
// flushes.
//
//   contraction %a, %b into %c {acc = f32}   ->   %x = cast %a : tile<f32; …> ; %y = cast %b : … ; contraction %x, %y into %c
//
// Integers go in as narrow as an instruction takes them. The one that multiplies u8 by i8 takes two i8 as well: one of them is
// moved up by 128, and 128 times the sum of the other's elements is too much.
//
//   %x = cast %a : tile<i32; i k>                     %y = cast (xor %b, -128) : tile<u8; j k>
//   %y = cast %b : tile<i32; j k>                ->   %s = reduce sum (cast %a : tile<i32; i k>) over k
//   contraction %x, %y into %c over k                 contraction %y, %a into %c over k plus (mul %s, -128)

namespace kdl::cpu {

namespace {

class IntegerFitter {
 public:
  IntegerFitter(ir::Builder& b, Op* op, const ir::Unit& unit) : b_(b), op_(op), unit_(unit) {}

  void Run() {
    Value* a = ir::NarrowFactor(op_->operand(ir::ContractionOp::at_a));
    Value* b = ir::NarrowFactor(op_->operand(ir::ContractionOp::at_b));
    if (unit_.a == unit_.b) return Take(b_.Cast(a, unit_.a), b_.Cast(b, unit_.b));
    if (IsSigned(Element(a)) == IsSigned(Element(b))) {
      if (!ir::SumsUp(*op_, a)) std::swap(a, b);
      Value* plus = Correction(a);
      op_->SetSegment(ir::ContractionOp::at_plus, std::span(&plus, 1));
      b = Moved(b);
    }
    if (IsSigned(Element(a))) std::swap(a, b);
    Take(a, b);
  }

 private:
  static kdl::Scalar Element(const Value* tile) { return tile->type()->scalar; }

  void Take(Value* a, Value* b) {
    op_->SetOperand(ir::ContractionOp::at_a, a);
    op_->SetOperand(ir::ContractionOp::at_b, b);
  }

  /// The factor with the other sign: 128 above what it was, or below.
  Value* Moved(Value* factor) {
    Value* half = b_.Int(Element(factor), IsSigned(Element(factor)) ? -128 : 128);
    return b_.Cast(b_.Binary(OpKind::Xor, factor, half),
                   IsSigned(Element(factor)) ? unit_.a : unit_.b);
  }

  /// What is too much, or missing, where the other factor is moved.
  Value* Correction(Value* factor) {
    AxisList over = op_->attr<AttrKey::Axes>();
    AxisList kept = factor->type()->axes;
    std::erase_if(kept, [&](AxisId axis) { return Contains(over, axis); });
    Value* sum =
        b_.Make(OpKind::Reduce, {b_.Cast(factor, unit_.acc)}, b_.types().Tile(unit_.acc, kept),
                {ir::MakeAttr<AttrKey::Fold>(ir::FoldKind::Sum), ir::MakeAttr<AttrKey::Axes>(over),
                 ir::MakeAttr<AttrKey::Acc>(unit_.acc),
                 ir::MakeAttr<AttrKey::Order>(ir::OrderKind::Lanes64)});
    Value* each = b_.Int(unit_.acc, 128);
    if (IsSigned(Element(factor))) each = b_.Binary(OpKind::Sub, b_.Int(unit_.acc, 0), each);
    return b_.Binary(OpKind::Mul, sum, each);
  }

  ir::Builder& b_;
  Op* op_;
  const ir::Unit& unit_;
};

void Widen(ir::Builder& b, Op* op, const ir::Unit* unit) {
  auto acc = op->attr<AttrKey::Acc>();
  for (size_t i : {size_t{ir::ContractionOp::at_a}, size_t{ir::ContractionOp::at_b}}) {
    Value* factor = b.Cast(op->operand(i), acc);
    if (unit && unit->flushes) factor = b.Unary(OpKind::Flush, factor);
    op->SetOperand(i, factor);
  }
}

}  // namespace

void RunFitOperands(PassContext& context, ir::Function& kernel) {
  ir::Builder builder(context.module);
  for (Op* op : OpsOfKind(kernel, OpKind::Contraction)) {
    const ir::Unit* unit = ir::UnitOf(*op, context.module.context());
    builder.SetInsertionPoint(op);
    builder.set_loc(op->loc());
    if (!IsNative(FactsOf(context), unit)) {
      Widen(builder, op, unit);
    } else if (unit->order == ir::StepOrder::Any) {
      IntegerFitter(builder, op, *unit).Run();
    }
  }
}

}  // namespace kdl::cpu
