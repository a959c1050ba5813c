#include "targets/cpu/expand/small_numbers.h"

#include <bit>

namespace kdl::cpu {

using ir::OpKind;
using ir::Value;

Value* SmallNumbers::Constant(float value) {
  return e_.b.Bits(kdl::Scalar::F32, std::bit_cast<uint32_t>(value));
}

Value* SmallNumbers::Note(Value* found, Value* value, Value* mask) {
  Value* magnitude = e_.b.Unary(OpKind::Abs, value);
  Value* is_less = e_.b.Binary(OpKind::Lt, magnitude, Constant(limit_));
  Value* is_some = e_.b.Binary(OpKind::Ne, value, Constant(0));
  Value* is_small = e_.b.Binary(OpKind::And, is_less, is_some);
  if (mask) is_small = e_.b.Binary(OpKind::And, is_small, mask);
  return e_.b.Select(is_small, e_.b.Splat(Constant(1), ir::Lanes(value->type())), found);
}

Value* SmallNumbers::None(Value* found) {
  for (int64_t lanes = ir::Lanes(found->type()) / 2; lanes > 0; lanes /= 2) {
    Value* halves[2];
    for (int64_t part : {0, 1}) {
      halves[part] = e_.b.Make(OpKind::Half, {found}, e_.TypeOf(kdl::Scalar::F32, lanes),
                               {ir::MakeAttr<ir::AttrKey::Part>(part)});
    }
    found = e_.b.Binary(OpKind::Max, halves[0], halves[1]);
  }
  return e_.b.Binary(OpKind::Eq, found, Constant(0));
}

Value* SmallNumbers::NoneOf(const Values& values) {
  Value* found = e_.b.Splat(Constant(0), ir::Lanes(values[0]->type()));
  for (Value* value : values) found = Note(found, value, nullptr);
  return None(found);
}

Value* SmallNumbers::NoneIn(const ir::Op* at, const Home& home) {
  ir::AxisList around(home.axes.begin(), home.axes.end() - 1);
  ir::AxisId last = home.axes.back();
  int64_t lanes = e_.LanesAlong(last, Bytes(kdl::Scalar::F32));
  Window window = e_.WindowOf(at, last);
  Position position;
  Value* start = e_.b.Splat(Constant(0), lanes);
  Values found = MakeNest(e_, at, around, position, {start}, [&](const Values& outer) {
    return MakeLoop(
        e_, {window.lo, window.hi, lanes}, outer, [&](Value* index, const Values& inner) {
          position[last] = index;
          Piece piece{lanes};
          if (lanes > 1) {
            piece.count = e_.b.Binary(OpKind::Sub, window.hi, index);
            piece.mask =
                e_.b.Make(OpKind::LaneMask, {piece.count}, e_.TypeOf(kdl::Scalar::Bool, lanes));
          }
          Value* value = LoadPiece(e_, home, kdl::Scalar::F32, position, piece);
          return Values{Note(inner[0], value, piece.mask)};
        });
  });
  return None(found[0]);
}

}  // namespace kdl::cpu
