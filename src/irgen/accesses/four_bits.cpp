#include "irgen/accesses/four_bits.h"

#include "ir/op_kind.h"
#include "irgen/accesses/elements.h"
#include "irgen/walk/generate.h"
#include "support/check.h"

// Generates loads of elements that have 4 bits each. Of the two elements of a byte, the lower half is the first:
//
//   w[j, e]   ->   byte = load %w[j, e / 2];  if e % 2 != 0 then byte >> 4 else byte & 15
//
// This code is then made a value of a wider type.

namespace kdl::irgen {

namespace {

using ir::OpKind;
using ir::Value;
using syntax::FourBitType;

/// Returns the number that the codes 0 to 7 mean as the bits of an f32. Those from 2 on have the exponent and the
/// fraction of the code, and 0 and 1 are the subnormal numbers 0 and 0.5.
Value* FloatBits(ir::Builder& b, Value* code) {
  auto number = [&](int64_t value) { return b.Int(Scalar::I32, value); };
  constexpr int64_t kFractionShift = 22;
  constexpr int64_t kHalf = 0x3f000000;  // 0.5; also the exponent that is added to that of the code
  Value* normal = b.Add(b.Binary(OpKind::Shl, code, number(kFractionShift)), number(kHalf));
  Value* small = b.Mul(code, number(kHalf));
  return b.Select(b.Lt(code, number(2)), small, normal);
}

/// Returns the element that a code, a u8 below 16, means.
Value* Meaning(FunctionGen& gen, Value* code, FourBitType type) {
  ir::Builder& b = gen.builder;
  switch (type) {
    case FourBitType::U4:
      return code;
    case FourBitType::I4: {
      Value* eight = b.Int(Scalar::I8, 8);
      return b.Sub(b.Xor(b.Cast(code, Scalar::I8), eight), eight);
    }
    case FourBitType::F4E2M1: {
      Value* wide = b.Cast(code, Scalar::I32);
      Value* magnitude = FloatBits(b, b.And(wide, b.Int(Scalar::I32, 7)));
      Value* sign =
          b.Binary(OpKind::Shl, b.Shr(wide, b.Int(Scalar::I32, 3)), b.Int(Scalar::I32, 31));
      Value* bits = b.Or(magnitude, sign);
      ir::Type f32 = b.types().Tile(Scalar::F32, bits->type()->axes);
      return b.Make(OpKind::FromBits, {bits}, f32);
    }
  }
  KDL_UNREACHABLE("type {}", static_cast<int>(type));
}

/// Loads the byte that contains an element, whose index along the last dimension is `at`.
Value* LoadByte(FunctionGen& gen, const syntax::IndexExpr& expr, Value* tensor, Value* at) {
  ir::Builder& b = gen.builder;
  sema::IndexInfo first = *gen.Info(&expr).index;
  first.dims.pop_back();
  AccessGen access = GenAccess(gen, first);
  Value* byte = b.Div(at, b.I64(2));
  kdl::SizeTable& sizes = b.types().sizes();
  ir::AccessTerm term{sizes.Constant(1), access.OperandNumber(byte)};
  access.access.dims.push_back({{term}, sizes.Constant(0)});
  Value* mask = gen.contract ? nullptr : gen.Mask();
  std::vector<ir::AxisId> axes = access.axes;
  if (mask) axes = ir::UnionAxes(axes, mask->type()->axes);
  ir::Builder::Segments segments = {{tensor}, access.operands, {}, Optional(mask)};
  return b
      .Create(OpKind::Load, segments, {b.types().Tile(Scalar::U8, std::move(axes))},
              AccessAttrs(gen, access, false, expr.span))
      ->result();
}

}  // namespace

Value* GenFourBitLoad(FunctionGen& gen, const syntax::IndexExpr& expr, Value* tensor, Value* at) {
  ir::Builder& b = gen.builder;
  Value* byte = LoadByte(gen, expr, tensor, at);
  // Shifts by the same count and a choice are faster in vectors than shifts by different counts.
  Value* odd = b.And(b.Cast(at, Scalar::U8), b.Int(Scalar::U8, 1));
  Value* upper = b.Shr(byte, b.Int(Scalar::U8, 4));
  Value* lower = b.And(byte, b.Int(Scalar::U8, 15));
  Value* code = b.Select(b.Ne(odd, b.Int(Scalar::U8, 0)), upper, lower);
  return Meaning(gen, code, *gen.Info(&expr).index->base->type.four_bit);
}

}  // namespace kdl::irgen
