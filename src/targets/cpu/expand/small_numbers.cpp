#include "targets/cpu/expand/small_numbers.h"

namespace kdl::cpu {

using ir::OpKind;
using ir::Value;

Value* SmallNumbers::None(Value* found) {
  for (int64_t lanes = ir::Lanes(found->type()) / 2; lanes > 0; lanes /= 2) {
    Value* halves[2];
    for (int64_t part : {0, 1}) {
      halves[part] = e_.b.Make(OpKind::Half, {found}, e_.TypeOf(kdl::Scalar::F32, lanes),
                               {ir::MakeAttr<ir::AttrKey::Part>(part)});
    }
    found = e_.b.Binary(OpKind::Max, halves[0], halves[1]);
  }
  return e_.b.Binary(OpKind::Eq, found, Constant(e_.b, 0));
}

Value* SmallNumbers::NoneOf(const Values& values) {
  Value* found = e_.b.Splat(Constant(e_.b, 0), ir::Lanes(values[0]->type()));
  for (Value* value : values) found = NoteSmall(e_.b, found, IsSmall(e_.b, value, limit_));
  return None(found);
}

}  // namespace kdl::cpu
