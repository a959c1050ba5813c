#include "sema/types/literal_type.h"

namespace kdl::sema {

Type LiteralType(bool is_float) {
  Type type;
  type.kind = is_float ? TypeKind::FloatLiteral : TypeKind::IntLiteral;
  return type;
}

Type RecordLiteral(FunctionState& state, const syntax::Expr* expr, ExprInfo& info,
                   const Literal& literal) {
  state.literals[expr] = literal;
  std::optional<int64_t> integer = ToInt64(literal);
  info.size = integer ? state.module.sizes.Constant(*integer) : nullptr;
  return LiteralType(literal.is_float);
}

}  // namespace kdl::sema
