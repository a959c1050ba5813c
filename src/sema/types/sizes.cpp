#include "sema/types/sizes.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>

#include "sema/types/size_arithmetic.h"
#include "sema/types/traits.h"
#include "sema/walk/constants.h"
#include "sema/walk/imports.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::BinaryExpr;
using syntax::BinaryOp;
using syntax::Expr;

constexpr std::string_view kDimension = "a dimension";

Size ReportNoSize(FunctionState& state, const Expr* expr, std::string_view what) {
  Diagnostic& report =
      state.diagnostics.Report(diag::NotASize, expr->span, what, Quote(state, expr));
  if (what == kDimension && state.kind() == syntax::FunctionKind::Program)
    report.Help(
        fmt::format("write `let size = {};` before it, and use size here", Quote(state, expr)));
  return nullptr;
}

/// Returns the size that `expr` names, or reports an error and returns null.
Size SizeOfEntity(FunctionState& state, const Entity* entity, const Expr* expr,
                  std::string_view what) {
  if (entity == nullptr) return nullptr;
  if (entity->kind == EntityKind::Const && !ConstValue(state, entity))
    return entity->type.is_tensor() ? ReportNoSize(state, expr, what) : nullptr;
  if (entity->size != nullptr) return entity->size;
  bool is_number = entity->kind != EntityKind::TensorParam && entity->kind != EntityKind::Pipe;
  if (!is_number) return ReportNoSize(state, expr, what);
  if (IsFaulty(*entity)) return nullptr;
  bool is_integer = entity->type.is_scalar() && IsInteger(entity->type.scalar);
  bool in_program = state.kind() == syntax::FunctionKind::Program && state.contract == nullptr;
  if (!is_integer || what != kDimension || !in_program) return ReportNoSize(state, expr, what);
  if (entity->kind == EntityKind::Var) {
    state.diagnostics.Report(diag::VarAsSize, expr->span, entity->name.text())
        .Help(fmt::format("write `let size = {0};`, and use size instead of {0}",
                          entity->name.text()));
    return nullptr;
  }
  state.fn.sizes.insert(entity);
  return state.module.sizes.Symbol(entity->name);
}

Size SizeOfName(FunctionState& state, const syntax::NameExpr& name, std::string_view what) {
  if (state.in_signature && state.scopes.Find(name.name) == nullptr) {
    state.diagnostics.Report(diag::UnboundSize, name.span, name.name.text())
        .Help(fmt::format("declare a parameter with the dimension '{0}', as in x: f32[{0}], or add "
                          "`where {0} == …`",
                          name.name.text()));
    return nullptr;
  }
  if (name.is_pack && !state.in_signature) {
    state.diagnostics.Report(diag::PackPlace, name.span, name.name.text())
        .Help(fmt::format("write {} for the number of its elements", name.name.text()));
    return nullptr;
  }
  bool cores = name.name.text() == "core_num" && state.scopes.Find(name.name) == nullptr;
  if (cores && what == kDimension && state.kind() == syntax::FunctionKind::Kernel)
    return state.module.sizes.Symbol(name.name);
  const Entity* entity = state.scopes.Find(name.name);
  bool in_program = what == kDimension && state.kind() == syntax::FunctionKind::Program;
  if (entity == nullptr) {
    ReportUnknown(state, name.name.text(), name.span, in_program ? SizeHelp(name.name.text()) : "");
    return nullptr;
  }
  return SizeOfEntity(state, entity, &name, what);
}

/// Returns the size that a name in another file refers to, such as `nn.WIDTH`.
Size SizeOfField(FunctionState& state, const syntax::FieldExpr& field, std::string_view what) {
  if (std::optional<Scalar> scalar = field.name ? NamedType(state, field.base) : std::nullopt) {
    ExprInfo info;
    if (CheckTrait(state, field, *scalar, info).is_error()) return nullptr;
    return info.size != nullptr ? info.size : ReportNoSize(state, &field, what);
  }
  const Entity* import = field.name ? ImportOf(state, field.base) : nullptr;
  if (import == nullptr) return ReportNoSize(state, &field, what);
  return SizeOfEntity(state, ResolveMember(state, *import, field.name), &field, what);
}

Size SizeOfLiteral(FunctionState& state, const Expr* expr, const Literal& literal) {
  if (std::optional<int64_t> value = ToInt64(literal)) return state.module.sizes.Constant(*value);
  state.diagnostics.Report(diag::LiteralDoesNotFit, expr->span, Quote(state, expr), "i64");
  return nullptr;
}

Size SizeOfBinary(FunctionState& state, const BinaryExpr& binary, std::string_view what) {
  std::optional<SizeKind> kind = SizeKindOf(binary.op);
  if (!kind) return ReportNoSize(state, &binary, what);
  Size lhs = CheckSize(state, binary.lhs, what);
  Size rhs = CheckSize(state, binary.rhs, what);
  if (lhs == nullptr || rhs == nullptr) return nullptr;
  bool divides = *kind == SizeKind::FloorDiv || *kind == SizeKind::Mod;
  if (divides && IsConstant(rhs, 0)) {
    state.diagnostics.Report(diag::DivisionByZero, binary.rhs->span);
    return nullptr;
  }
  Size size = state.module.sizes.Binary(*kind, lhs, rhs);
  if (!IsConstant(lhs) || !IsConstant(rhs) || IsConstant(size)) return size;
  state.diagnostics.Report(diag::LiteralTooLarge, binary.span, Quote(state, &binary));
  return nullptr;
}

Size SizeOfCeilDiv(FunctionState& state, const syntax::CallExpr& call, std::string_view what) {
  bool known = call.receiver == nullptr && call.callee.name.text() == "ceil_div" &&
               call.args.size() == 2 && call.generics.empty();
  if (!known) return ReportNoSize(state, &call, what);
  Size a = CheckSize(state, call.args[0].value, what);
  Size b = CheckSize(state, call.args[1].value, what);
  if (a == nullptr || b == nullptr) return nullptr;
  SizeTable& sizes = state.module.sizes;
  Size last = sizes.Binary(SizeKind::Sub, b, sizes.Constant(1));
  return sizes.Binary(SizeKind::FloorDiv, sizes.Binary(SizeKind::Add, a, last), b);
}

}  // namespace

std::string SizeHelp(std::string_view name) {
  if (name == "core_num")
    return "only kernels have core_num; in a program, write `let n = cores(d);`, where d is a "
           "device";
  return fmt::format("to declare the size before it, write `let {} = 8;`", name);
}

Size CheckSize(FunctionState& state, const Expr* expr, std::string_view what) {
  SizeTable& sizes = state.module.sizes;
  switch (expr->kind) {
    case syntax::ExprKind::IntLit:
      return SizeOfLiteral(state, expr, FromAst(syntax::As<syntax::IntLit>(expr)));
    case syntax::ExprKind::Name:
      return SizeOfName(state, syntax::As<syntax::NameExpr>(expr), what);
    case syntax::ExprKind::Field:
      return SizeOfField(state, syntax::As<syntax::FieldExpr>(expr), what);
    case syntax::ExprKind::Unary: {
      const auto& unary = syntax::As<syntax::UnaryExpr>(expr);
      if (unary.op != syntax::UnaryOp::Neg) return ReportNoSize(state, expr, what);
      if (unary.operand->kind == syntax::ExprKind::IntLit) {
        Literal literal = FromAst(syntax::As<syntax::IntLit>(unary.operand));
        return SizeOfLiteral(state, expr, Negate(literal));
      }
      Size operand = CheckSize(state, unary.operand, what);
      if (operand == nullptr) return nullptr;
      return sizes.Binary(SizeKind::Sub, sizes.Constant(0), operand);
    }
    case syntax::ExprKind::Binary:
      return SizeOfBinary(state, syntax::As<BinaryExpr>(expr), what);
    case syntax::ExprKind::Call:
      return SizeOfCeilDiv(state, syntax::As<syntax::CallExpr>(expr), what);
    default:
      return ReportNoSize(state, expr, what);
  }
}

Size CheckDim(FunctionState& state, const Expr* expr) {
  Size size = CheckSize(state, expr, kDimension);
  if (size == nullptr || !IsConstant(size) || size->value >= 0) return size;
  state.diagnostics.Report(diag::NegativeSize, expr->span, size->value);
  return nullptr;
}

bool CheckRank(FunctionState& state, const syntax::TypeRef& type) {
  constexpr size_t kMostDimensions = 8;
  if (type.dims.size() <= kMostDimensions) return true;
  state.diagnostics.Report(diag::TensorRank, type.span, type.dims.size());
  return false;
}

}  // namespace kdl::sema
