#include <algorithm>
#include <optional>

#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/passes.h"

// convert-operands: converts the factors of a contraction to the types that its matrix instruction accepts.
// Each factor is converted once, where it is made, and not at every multiplication. If the processor has no
// instruction for narrow floats, factors are converted to the accumulator's type. Their subnormals are
// flushed if the matrix instruction would flush them.
//
//   contraction %a, %b into %c {acc = f32}
//   ->  %x = cast %a : tile<f32; …> ; %y = cast %b : … ; contraction %x, %y into %c
//
// Integers are kept in the narrowest type that the instruction accepts. The instruction that multiplies u8 by
// i8 can also multiply two factors of i8: 128 is added to one factor, and 128 times the sum of the other
// factor's elements is subtracted from the result.
//
//   %x = cast %a : tile<i32; i k>                     %y = cast (xor %b, -128) : tile<u8; j k>
//   %y = cast %b : tile<i32; j k>                ->   %s = reduce sum (cast %a : tile<i32; i k>) over k
//   contraction %x, %y into %c over k                 contraction %y, %a into %c over k plus (mul %s, -128)

namespace kdl::cpu {

namespace {

class IntegerFitter {
 public:
  IntegerFitter(ir::Builder& b, Op* op, const ir::MatrixInstruction& instruction)
      : b_(b), op_(op), instruction_(instruction) {}

  /// Returns false if it is unknown whether the factors' values fit into narrow types, for example if the
  /// factors come from a pipe.
  bool ConvertFactors() {
    std::optional<ir::FittedFactors> fitted = ir::FitFactors(instruction_, *op_);
    if (!fitted) return false;
    if (fitted->moves_a || fitted->moves_b) {
      const Value* moved = fitted->moves_a ? fitted->a : fitted->b;
      Value* plus = Correction(fitted->moves_a ? fitted->b : fitted->a, Element(moved));
      op_->SetSegment(ir::ContractionOp::at_plus, std::span(&plus, 1));
    }
    Value* b =
        fitted->moves_b ? Moved(fitted->b, instruction_.b) : b_.Cast(fitted->b, instruction_.b);
    Value* a =
        fitted->moves_a ? Moved(fitted->a, instruction_.a) : b_.Cast(fitted->a, instruction_.a);
    Take(a, b);
    return true;
  }

 private:
  static kdl::Scalar Element(const Value* tile) { return tile->type()->scalar; }

  void Take(Value* a, Value* b) {
    op_->SetOperand(ir::ContractionOp::at_a, a);
    op_->SetOperand(ir::ContractionOp::at_b, b);
  }

  /// Returns half of the number of different values that the type has.
  static int64_t HalfOfRange(kdl::Scalar type) { return int64_t{1} << (8 * Bytes(type) - 1); }

  /// Returns the factor after half of its type's range has been added or subtracted, as the type of the
  /// opposite signedness.
  Value* Moved(Value* factor, kdl::Scalar to) {
    kdl::Scalar from = Element(factor);
    Value* half = b_.Int(from, IsSigned(from) ? -HalfOfRange(from) : HalfOfRange(from));
    return b_.Cast(b_.Xor(factor, half), to);
  }

  /// Returns the value that must be added to the result because `Moved` has changed the other factor.
  Value* Correction(Value* factor, kdl::Scalar moved) {
    AxisList over = op_->attr<AttrKey::Axes>();
    AxisList kept = factor->type()->axes;
    std::erase_if(kept, [&](AxisId axis) { return Contains(over, axis); });
    Value* sum =
        b_.Make(OpKind::Reduce, {b_.Cast(factor, instruction_.acc)},
                b_.types().Tile(instruction_.acc, kept),
                {ir::MakeAttr<AttrKey::Reduction>(ir::ReductionKind::Sum),
                 ir::MakeAttr<AttrKey::Axes>(over), ir::MakeAttr<AttrKey::Acc>(instruction_.acc),
                 ir::MakeAttr<AttrKey::Order>(ir::OrderKind::Lanes64)});
    Value* each = b_.Int(instruction_.acc, HalfOfRange(moved));
    if (IsSigned(moved)) each = b_.Sub(b_.Int(instruction_.acc, 0), each);
    return b_.Mul(sum, each);
  }

  ir::Builder& b_;
  Op* op_;
  const ir::MatrixInstruction& instruction_;
};

void Widen(ir::Builder& b, Op* op, const ir::MatrixInstruction* instruction) {
  auto acc = op->attr<AttrKey::Acc>();
  for (size_t i : {size_t{ir::ContractionOp::at_a}, size_t{ir::ContractionOp::at_b}}) {
    Value* factor = b.Cast(op->operand(i), acc);
    if (instruction && instruction->flushes) factor = b.Unary(OpKind::Flush, factor);
    op->SetOperand(i, factor);
  }
}

}  // namespace

void RunConvertOperands(PassContext& context, ir::Function& kernel) {
  ir::Builder builder(context.module);
  for (Op* op : OpsOfKind(kernel, OpKind::Contraction)) {
    const ir::MatrixInstruction* instruction = ir::InstructionOf(*op, context.module.context());
    builder.StandAt(op);
    bool is_native = IsNative(ProcessorFactsOf(context), instruction);
    bool is_any = is_native && instruction->order == ir::StepOrder::Any;
    if (is_any && !IntegerFitter(builder, op, *instruction).ConvertFactors()) {
      op->RemoveAttr(AttrKey::Instruction);  // the result is the same without the instruction
      is_native = false;
    }
    if (!is_native) Widen(builder, op, instruction);
  }
}

}  // namespace kdl::cpu
