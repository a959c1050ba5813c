#include "sema/types/traits.h"

#include <limits>
#include <string_view>

#include "sema/types/literal_type.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"
#include "support/float_bits.h"

namespace kdl::sema {

namespace {

using syntax::FieldExpr;

/// Returns the bits of the least (`is_max` is false) or the greatest finite value of a number type.
uint64_t LimitBits(Scalar scalar, bool is_max) {
  if (IsFloat(scalar)) {
    return FloatBits(scalar, is_max ? LargestValue(scalar) : LeastValue(scalar));
  }
  int bits = Info(scalar).bits;
  uint64_t all = std::numeric_limits<uint64_t>::max() >> (64 - bits);
  if (!IsSigned(scalar)) return is_max ? all : 0;
  return is_max ? all >> 1 : all ^ (all >> 1);
}

Type CheckLimit(FunctionState& state, const FieldExpr& field, Scalar scalar, ExprInfo& info) {
  Constant limit{scalar, LimitBits(scalar, field.name.name.text() == "max")};
  Literal literal = FromConstant(limit);
  // In contracts, integers are i64, except those of type u64.
  bool is_literal = state.contract != nullptr && scalar != Scalar::U64;
  if (is_literal) return RecordLiteral(state, &field, info, literal);
  info.constant = limit;
  std::optional<int64_t> integer = ToInt64(literal);
  if (integer) info.size = state.module.sizes.Constant(*integer);
  return ValueType(scalar);
}

}  // namespace

std::optional<Scalar> NamedType(FunctionState& state, const syntax::Expr* expr) {
  std::optional<syntax::TypeName> name = syntax::AsTypeName(expr);
  if (!name || (name->member && name->member.name.text() != "acc")) return std::nullopt;
  const Entity* entity = state.scopes.Find(name->name);
  bool is_type = entity != nullptr ? entity->kind == EntityKind::TypeGeneric
                                   : ScalarFromSpelling(name->name.text()).has_value();
  return is_type ? ResolveScalar(state, *name) : std::nullopt;
}

Type CheckTrait(FunctionState& state, const FieldExpr& field, Scalar scalar, ExprInfo& info) {
  std::string_view member = field.name.name.text();
  if (member == "bits") return RecordLiteral(state, &field, info, Literal::Int(Info(scalar).bits));
  bool is_limit = member == "min" || member == "max";
  if (is_limit && scalar != Scalar::Bool) return CheckLimit(state, field, scalar, info);
  if (member == "acc") {
    state.diagnostics.Report(diag::NotAValue, field.span, Quote(state, &field), "a type");
  } else {
    ReportNoTrait(state, is_limit ? Spelling(scalar) : state.Text(field.base->span), field.name);
  }
  return Type{};
}

}  // namespace kdl::sema
