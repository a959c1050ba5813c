#include "sema/types/tuples.h"

#include <fmt/format.h>

#include "sema/types/coerce.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::Expr;

Type TupleOf(std::vector<Type> parts) {
  Type type;
  type.kind = TypeKind::Tuple;
  for (const Type& part : parts) type.ranges = UnionOf(type.ranges, part.ranges);
  type.parts = std::move(parts);
  return type;
}

/// Returns the expressions of the elements if `expr` is written as a tuple, otherwise null.
const std::vector<const Expr*>* ElementExpressions(const Expr* expr) {
  const auto* tuple = syntax::DynAs<syntax::TupleExpr>(expr);
  return tuple != nullptr ? &tuple->elements : nullptr;
}

/// Updates the type of a tuple after the types of its elements' expressions have changed.
void Renew(FunctionState& state, const Expr* expr) {
  const std::vector<const Expr*>* parts = ElementExpressions(expr);
  if (parts == nullptr) return;
  std::vector<Type> types;
  for (const Expr* part : *parts) types.push_back(state.fn.exprs[part].type);
  state.fn.exprs[expr].type = TupleOf(std::move(types));
}

bool FitsParts(FunctionState& state, const Expr* expr, const Type& wanted) {
  const Type type = state.fn.exprs[expr].type;
  if (!type.is_tuple() || type.parts.size() != wanted.parts.size()) return type.is_error();
  const std::vector<const Expr*>* parts = ElementExpressions(expr);
  bool fits = true;
  for (size_t i = 0; i < wanted.parts.size(); ++i) {
    Scalar scalar = wanted.parts[i].scalar;
    fits = fits &&
           (parts != nullptr ? Fits(state, (*parts)[i], scalar) : type.parts[i].scalar == scalar);
  }
  Renew(state, expr);
  return fits;
}

/// Returns the common tuple type of two branches. An element that is a literal gets the type of the other
/// branch's element, or its default type.
Type Agreed(const FunctionState& state, const Type& a, const Type& b) {
  Type agreed = a;
  for (size_t i = 0; i < a.parts.size(); ++i) {
    Type& part = agreed.parts[i];
    if (part.is_literal() && b.parts[i].is_value()) part.scalar = b.parts[i].scalar;
    if (part.is_literal() && b.parts[i].is_literal()) {
      bool is_float =
          part.kind == TypeKind::FloatLiteral || b.parts[i].kind == TypeKind::FloatLiteral;
      part.scalar = is_float ? Scalar::F32 : Scalar::I32;
    }
    part.kind = TypeKind::Value;
    part = Seen(state, std::move(part));
  }
  return agreed;
}

}  // namespace

Type CheckTuple(FunctionState& state, const syntax::TupleExpr& tuple) {
  std::vector<Type> parts;
  bool ok = true;
  for (const Expr* part : tuple.elements) {
    parts.push_back(CheckValue(state, part));
    ok = ok && !parts.back().is_error();
  }
  return ok ? TupleOf(std::move(parts)) : Type{};
}

Type CheckTupleChoice(FunctionState& state, const syntax::IfExpr& choice, const Type& condition) {
  const Type a = state.fn.exprs[choice.then_value].type;
  const Type b = state.fn.exprs[choice.else_value].type;
  if (a.is_error() || b.is_error() || condition.is_error()) return Type{};
  bool fits = a.is_tuple() && b.is_tuple() && a.parts.size() == b.parts.size();
  Type agreed = fits ? Agreed(state, a, b) : Type{};
  fits = fits && FitsType(state, choice.then_value, agreed) &&
         FitsType(state, choice.else_value, agreed);
  if (!fits) {
    state.diagnostics.Report(diag::TupleParts, choice.else_value->span,
                             Quote(state, choice.else_value), ToString(b), ToString(a));
    return Type{};
  }
  for (size_t i = 0; i < agreed.parts.size(); ++i)
    agreed.parts[i].ranges =
        UnionOf(UnionOf(a.parts[i].ranges, b.parts[i].ranges), condition.ranges);
  return TupleOf(std::move(agreed.parts));
}

Type CheckPart(FunctionState& state, const syntax::FieldExpr& field) {
  Type base = CheckAny(state, field.base);
  if (base.is_error()) return base;
  if (!base.is_tuple() || field.index >= base.parts.size()) {
    state.diagnostics
        .Report(diag::NoPart, field.span, Quote(state, field.base), ToString(base), field.index)
        .Help("the components of a tuple are .0, .1 and so on");
    return Type{};
  }
  return DefaultParts(state, field.base).parts[field.index];
}

Type ResolveTuple(FunctionState& state, const syntax::TypeRef& ref) {
  std::vector<Type> parts;
  for (const syntax::TypeRef* element : ref.elements) {
    if (!element->elements.empty() || element->has_brackets) {
      state.diagnostics.Report(diag::TuplePart, element->span, state.Text(element->span))
          .Help("use a scalar type: a fn that is applied to tiles returns a tuple of tiles");
      return Type{};
    }
    std::optional<Scalar> scalar = ResolveScalar(state, element->name);
    if (!scalar) return Type{};
    parts.push_back(ValueType(*scalar));
  }
  return TupleOf(std::move(parts));
}

bool FitsType(FunctionState& state, const Expr* expr, const Type& wanted) {
  if (!wanted.is_tuple()) return Fits(state, expr, wanted.scalar);
  if (const auto* choice = syntax::DynAs<syntax::IfExpr>(expr)) {
    if (!FitsType(state, choice->then_value, wanted) ||
        !FitsType(state, choice->else_value, wanted))
      return false;
  }
  return FitsParts(state, expr, wanted);
}

Type DefaultParts(FunctionState& state, const Expr* expr) {
  if (!state.fn.exprs[expr].type.is_tuple()) return Default(state, expr);
  const std::vector<const Expr*>* parts = ElementExpressions(expr);
  if (parts != nullptr) {
    for (const Expr* part : *parts) Default(state, part);
    Renew(state, expr);
  }
  return state.fn.exprs[expr].type;
}

}  // namespace kdl::sema
