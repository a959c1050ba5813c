#include "targets/cpu/small_numbers.h"

#include <bit>

namespace kdl::cpu {

using ir::OpKind;
using ir::Value;

Value* Constant(ir::Builder& b, float value) {
  return b.Bits(kdl::Scalar::F32, std::bit_cast<uint32_t>(value));
}

Value* IsSmall(ir::Builder& b, Value* value, float limit) {
  Value* magnitude = b.Unary(OpKind::Abs, value);
  Value* is_less = b.Binary(OpKind::Lt, magnitude, Constant(b, limit));
  Value* is_some = b.Binary(OpKind::Ne, value, Constant(b, 0));
  return b.Binary(OpKind::And, is_less, is_some);
}

Value* NoteSmall(ir::Builder& b, Value* found, Value* is_small) {
  return b.Select(is_small, b.Splat(Constant(b, 1), ir::Lanes(found->type())), found);
}

}  // namespace kdl::cpu
