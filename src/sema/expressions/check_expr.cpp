#include "sema/walk/expr.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>

#include "sema/accesses/index.h"
#include "sema/expressions/calls.h"
#include "sema/expressions/casts.h"
#include "sema/expressions/names.h"
#include "sema/expressions/operators.h"
#include "sema/expressions/reductions.h"
#include "sema/types/coerce.h"
#include "sema/types/foreign_calls.h"
#include "sema/types/literal_type.h"
#include "sema/types/tables.h"
#include "sema/types/traits.h"
#include "sema/types/tuples.h"
#include "sema/walk/imports.h"
#include "sema/walk/index_help.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"
#include "syntax/foreign_names.h"

namespace kdl::sema {

namespace {

using syntax::As;
using syntax::Expr;
using syntax::ExprKind;

// Keeps a handler from being inlined. Expressions can be deeply nested, and the local variables of inlined
// handlers would enlarge the stack frames of the recursion.
#define KDL_OWN_FRAME [[gnu::noinline]]

KDL_OWN_FRAME Type CheckIf(FunctionState& state, const syntax::IfExpr& choice) {
  Type condition = CheckCondition(state, choice.condition, "the condition of `if`", false);
  CheckAny(state, choice.then_value);
  CheckAny(state, choice.else_value);
  bool tuples = state.fn.exprs[choice.then_value].type.is_tuple() ||
                state.fn.exprs[choice.else_value].type.is_tuple();
  if (tuples) return CheckTupleChoice(state, choice, condition);
  std::array<const Expr*, 2> branches = {choice.then_value, choice.else_value};
  Type type = Unify(state, branches, choice.span, "if … then … else");
  if (condition.is_error()) return Type{};
  if (!type.is_error()) type.ranges = UnionOf(type.ranges, condition.ranges);
  return type;
}

KDL_OWN_FRAME Type CheckField(FunctionState& state, const syntax::FieldExpr& field,
                              ExprInfo& info) {
  if (!field.name) return CheckPart(state, field);
  if (const Entity* import = ImportOf(state, field.base)) {
    const Entity* member = ResolveMember(state, *import, field.name);
    return member != nullptr ? CheckEntity(state, *member, &field, info) : Type{};
  }
  if (std::optional<Scalar> scalar = NamedType(state, field.base))
    return CheckTrait(state, field, *scalar, info);
  if (ReportForeignConstant(state, field)) return Type{};
  Type base = CheckExpr(state, field.base);
  if (base.is_error()) return base;
  const Entity* entity = state.fn.exprs[field.base].entity;
  std::string_view name = field.name.name.text();
  if (entity == nullptr || entity->kind != EntityKind::Range || state.contract != nullptr) {
    state.diagnostics.Report(diag::NoFields, field.name.span, Quote(state, field.base), name)
        .Help(name == "T" ? syntax::HelpForForeign("transpose")
                          : "a range k has the fields k.start, k.size and k.index");
    return Type{};
  }
  info.entity = entity;
  if (name == "start") {
    info.field = RangeField::Start;
  } else if (name == "size") {
    info.field = RangeField::Size;
  } else if (name == "index") {
    info.field = RangeField::Index;
  } else {
    state.diagnostics.Report(diag::UnknownRangeField, field.name.span, entity->name.text(), name)
        .Help(fmt::format("write {0}.start, {0}.size or {0}.index", entity->name.text()));
    return Type{};
  }
  return ValueType(Scalar::I64);
}

KDL_OWN_FRAME Type CheckMisplaced(FunctionState& state, const Expr* expr) {
  switch (expr->kind) {
    case ExprKind::List:
      state.diagnostics.Report(diag::ListPlace, expr->span).Help(ListHelp(state, expr));
      return Type{};
    case ExprKind::Type:
      state.diagnostics.Report(diag::TypePlace, expr->span);
      return Type{};
    case ExprKind::TypeTest:
      state.diagnostics.Report(diag::TypeTestPlace, expr->span);
      return Type{};
    case ExprKind::Move:
      state.diagnostics.Report(diag::MovePlace, expr->span);
      return Type{};
    default:
      KDL_UNREACHABLE("expression kind {}", static_cast<int>(expr->kind));
  }
}

KDL_OWN_FRAME Type Dispatch(FunctionState& state, const Expr* expr, ExprInfo& info) {
  switch (expr->kind) {
    case ExprKind::IntLit:
      return RecordLiteral(state, expr, info, FromAst(As<syntax::IntLit>(expr)));
    case ExprKind::FloatLit:
      return RecordLiteral(state, expr, info, FromAst(As<syntax::FloatLit>(expr)));
    case ExprKind::BoolLit:
      info.constant = Constant{Scalar::Bool, As<syntax::BoolLit>(expr).value ? uint64_t{1} : 0};
      return ValueType(Scalar::Bool);
    case ExprKind::StringLit: {
      Type type;
      type.kind = TypeKind::String;
      return type;
    }
    case ExprKind::AutoLit:
      state.diagnostics.Report(diag::AutoAsValue, expr->span);
      return Type{};
    case ExprKind::Name:
      return CheckName(state, As<syntax::NameExpr>(expr), info);
    case ExprKind::Unary:
      return CheckUnary(state, As<syntax::UnaryExpr>(expr), info);
    case ExprKind::Binary:
      return CheckBinary(state, As<syntax::BinaryExpr>(expr), info);
    case ExprKind::If:
      return CheckIf(state, As<syntax::IfExpr>(expr));
    case ExprKind::Cast:
      return CheckCast(state, As<syntax::CastExpr>(expr), info);
    case ExprKind::Call:
      return CheckCall(state, As<syntax::CallExpr>(expr), info);
    case ExprKind::Reduce:
      return CheckReduce(state, As<syntax::ReduceExpr>(expr), info);
    case ExprKind::Index:
      return CheckIndex(state, As<syntax::IndexExpr>(expr), info, false);
    case ExprKind::Tuple:
      return CheckTuple(state, As<syntax::TupleExpr>(expr));
    case ExprKind::Field:
      return CheckField(state, As<syntax::FieldExpr>(expr), info);
    default:
      return CheckMisplaced(state, expr);
  }
}

}  // namespace

Type CheckExpr(FunctionState& state, const Expr* expr) {
  if (state.index_parts.contains(expr)) return state.fn.exprs.at(expr).type;
  ExprInfo info;
  state.literals.erase(expr);
  info.type = Dispatch(state, expr, info);
  if (info.type.is_error()) state.literals.erase(expr);
  ExprInfo& recorded = state.fn.exprs[expr] = std::move(info);
  return recorded.type;
}

namespace {

std::string HelpForTensor(FunctionState& state, const Expr* expr, std::string_view text,
                          const Type& type) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(expr);
  const Entity* entity = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  if (entity != nullptr) return HelpForIndexing(state, *entity);
  return fmt::format("index it: {}[{}]", text, type.dims.empty() ? "" : "…");
}

KDL_OWN_FRAME void ReportNoValue(FunctionState& state, const Expr* expr, const Type& type) {
  std::string text = Quote(state, expr);
  switch (type.kind) {
    case TypeKind::Range:
      state.diagnostics.Report(diag::RangeAsValue, expr->span, text)
          .Help(fmt::format("write iota({0}) for its indices, or iota({0}) as f32 next to floats, "
                            "{0}.start for the first one",
                            text));
      break;
    case TypeKind::Tensor:
      state.diagnostics.Report(diag::TensorAsValue, expr->span, text, ToString(type))
          .Help(HelpForTensor(state, expr, text, type));
      break;
    case TypeKind::Pipe:
      state.diagnostics.Report(diag::PipeAsValue, expr->span, text)
          .Help(fmt::format("pop a tile from it: {}.pop(…)", text));
      break;
    case TypeKind::Tuple:
      state.diagnostics.Report(diag::TupleAsValue, expr->span, text, ToString(type))
          .Help(fmt::format("select a component: {}.0", text));
      break;
    case TypeKind::Nothing:
      state.diagnostics.Report(diag::ResultOfNothing, expr->span, text)
          .Help("write it as a statement of its own");
      break;
    default:
      state.diagnostics.Report(diag::TextAsValue, expr->span)
          .Help("use a number for a character: 97 for the letter a");
      break;
  }
}

}  // namespace

Type CheckValue(FunctionState& state, const Expr* expr) {
  Type type = CheckExpr(state, expr);
  if (type.is_error() || type.is_value() || type.is_literal()) return type;
  ReportNoValue(state, expr, type);
  state.fn.exprs[expr].type = Type{};
  return Type{};
}

Type CheckAny(FunctionState& state, const Expr* expr) {
  Type type = CheckExpr(state, expr);
  bool fits = type.is_error() || type.is_value() || type.is_literal() || type.is_tuple();
  if (fits) return type;
  ReportNoValue(state, expr, type);
  state.fn.exprs[expr].type = Type{};
  return Type{};
}

Type CheckFinalValue(FunctionState& state, const Expr* expr) {
  CheckValue(state, expr);
  return Default(state, expr);
}

Type CheckInteger(FunctionState& state, const Expr* expr, std::string_view what) {
  Type type = CheckValue(state, expr);
  if (type.is_error()) return type;
  if (type.kind == TypeKind::IntLiteral) {
    Coerce(state, expr, Scalar::I64);
    return state.fn.exprs[expr].type;
  }
  if (!type.ranges.empty()) {
    state.diagnostics.Report(diag::TileForScalar, expr->span, what, RangesText(type.ranges));
    return Type{};
  }
  if (type.kind == TypeKind::FloatLiteral) {
    state.diagnostics.Report(diag::NotAnInteger, expr->span, what, ToString(type))
        .Help("write a whole number, without a decimal point");
    return Type{};
  }
  if (IsInteger(type.scalar)) return type;
  state.diagnostics.Report(diag::NotAnInteger, expr->span, what, Spelling(type.scalar))
      .Help(fmt::format("write '{}'", AsHint(state, expr, Scalar::I64)));
  return Type{};
}

namespace {

/// Reports a condition such as `i < N` for a range i, which guards against indices that do not exist.
bool ReportGuard(FunctionState& state, const Expr* expr) {
  const auto* comparison = syntax::DynAs<syntax::BinaryExpr>(expr);
  if (comparison == nullptr || comparison->op != syntax::BinaryOp::Lt) return false;
  const auto* name = syntax::DynAs<syntax::NameExpr>(comparison->lhs);
  const Entity* range = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  if (range == nullptr || range->kind != EntityKind::Range) return false;
  state.diagnostics.Report(diag::RangeAsValue, name->span, name->name.text())
      .Help(fmt::format(
          "remove the condition: '{}' only has indices that exist, so its last block is shorter",
          name->name.text()));
  return true;
}

}  // namespace

Type CheckCondition(FunctionState& state, const Expr* expr, std::string_view what, bool scalar) {
  if (scalar && ReportGuard(state, expr)) return Type{};
  Type type = CheckFinalValue(state, expr);
  if (type.is_error()) return type;
  if (type.scalar != Scalar::Bool) {
    state.diagnostics.Report(diag::NotABool, expr->span, what, Spelling(type.scalar))
        .Help("compare it, for example with `!= 0`");
    return Type{};
  }
  if (scalar && !type.ranges.empty()) {
    state.diagnostics.Report(diag::TileForScalar, expr->span, what, RangesText(type.ranges))
        .Help(what.find("while") != std::string_view::npos
                  ? "move the loop into a fn with a scalar parameter, which is called for each "
                    "element: "
                    "`fn f(v: f32) -> f32 { … }`"
                  : "choose element by element with `if c then a else b`");
    return Type{};
  }
  return type;
}

}  // namespace kdl::sema
