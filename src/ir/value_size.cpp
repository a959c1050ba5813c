#include "ir/value_size.h"

#include <algorithm>
#include <utility>

#include "ir/op_kind.h"

namespace kdl::ir {

namespace {

constexpr std::pair<OpKind, SizeKind> kKinds[] = {
    {OpKind::Add, SizeKind::Add},      {OpKind::Sub, SizeKind::Sub}, {OpKind::Mul, SizeKind::Mul},
    {OpKind::Div, SizeKind::FloorDiv}, {OpKind::Rem, SizeKind::Mod}, {OpKind::Min, SizeKind::Min}};

Size SizeOfDim(const Function& function, SizeTable& sizes, const Value* value) {
  for (size_t i = 0; i < function.dims.size(); ++i) {
    if (function.dim_value(i) == value) return sizes.Symbol(function.dims[i]);
  }
  return nullptr;
}

}  // namespace

Size SizeOfValue(const Function& function, SizeTable& sizes, const Value* value) {
  const Op* op = value->def();
  if (!op) return SizeOfDim(function, sizes, value);
  if (op->kind() == OpKind::Const)
    return sizes.Constant(static_cast<int64_t>(op->attr<AttrKey::Bits>()));
  if (op->kind() == OpKind::SizeOf) {
    Size size = op->attr<AttrKey::Size>();
    return MayDivideByZero(size) ? nullptr : size;
  }
  auto kind = std::ranges::find(kKinds, op->kind(), &std::pair<OpKind, SizeKind>::first);
  if (kind == std::end(kKinds)) return nullptr;
  Size lhs = SizeOfValue(function, sizes, op->operand(0));
  Size rhs = lhs ? SizeOfValue(function, sizes, op->operand(1)) : nullptr;
  bool divides = kind->second == SizeKind::FloorDiv || kind->second == SizeKind::Mod;
  if (!rhs || (divides && (!IsConstant(rhs) || rhs->value == 0))) return nullptr;
  return sizes.Binary(kind->second, lhs, rhs);
}

}  // namespace kdl::ir
