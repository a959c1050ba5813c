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

Value* NoneSmall(ir::Builder& b, const std::vector<Value*>& values, float limit) {
  Value* found = b.Splat(Constant(b, 0), ir::Lanes(values[0]->type()));
  for (Value* value : values) found = NoteSmall(b, found, IsSmall(b, value, limit));
  for (int64_t lanes = ir::Lanes(found->type()) / 2; lanes > 0; lanes /= 2) {
    Value* halves[2];
    for (int64_t part : {0, 1}) {
      halves[part] = b.Make(OpKind::Half, {found}, b.types().Vector(kdl::Scalar::F32, lanes),
                            {ir::MakeAttr<ir::AttrKey::Part>(part)});
    }
    found = b.Binary(OpKind::Max, halves[0], halves[1]);
  }
  return b.Binary(OpKind::Eq, found, Constant(b, 0));
}

}  // namespace kdl::cpu
