#include "sema/expressions/names.h"

#include <fmt/format.h>

// Checks names in expressions.

#include "sema/accesses/index_names.h"
#include "sema/model/builtins.h"
#include "sema/types/coerce.h"
#include "sema/types/literal_type.h"
#include "sema/walk/constants.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::Expr;

Type CheckConstName(FunctionState& state, const Expr* expr, ExprInfo& info, const Entity* entity) {
  std::optional<Literal> value = ConstValue(state, entity);
  if (entity->type.is_tensor()) {
    state.diagnostics
        .Report(diag::TableAsValue, expr->span, entity->name.text(), ToString(entity->type))
        .Help(fmt::format("index it: {}[…]", entity->name.text()));
  }
  if (!value) return Type{};
  if (entity->type.is_value() && entity->type.scalar == Scalar::Bool) {
    info.constant = Constant{Scalar::Bool, static_cast<uint64_t>(value->integer)};
    return entity->type;
  }
  bool untyped = entity->type.is_literal() || state.contract != nullptr;
  if (untyped) return RecordLiteral(state, expr, info, *value);
  info.constant = ToConstant(*value, entity->type.scalar);
  return entity->type;
}

Type CheckRangeName(FunctionState& state, const Entity* entity) {
  if (state.range_values > 0 || state.contract != nullptr) return ValueType(Scalar::I64, {entity});
  Type type;
  type.kind = TypeKind::Range;
  return type;
}

Type CheckBuiltinName(FunctionState& state, const syntax::NameExpr& name, ExprInfo& info) {
  const Builtin* builtin = FindBuiltin(name.name.text());
  if (builtin == nullptr) {
    ReportUnknown(state, name.name.text(), name.span);
    return Type{};
  }
  if (builtin->operands != Operands::None) {
    state.diagnostics.Report(diag::FunctionAsValue, name.span, builtin->spelling)
        .Help(fmt::format("call it: {}(…)", builtin->spelling));
    return Type{};
  }
  bool in_kernel = state.kind() == syntax::FunctionKind::Kernel && state.contract == nullptr;
  if (!in_kernel) {
    state.diagnostics.Report(diag::CoreOutsideKernel, name.span, builtin->spelling);
    return Type{};
  }
  if (builtin->kind == BuiltinKind::CoreId && state.spmd_depth != 0) {
    state.diagnostics.Report(diag::CoreIdInSpmd, name.span)
        .Help("use the block's own index, `k.index`, since any core may run a block");
    return Type{};
  }
  info.builtin = builtin;
  return ValueType(Scalar::I64);
}

/// Returns the type of a name that refers to an integer parameter. A contract may not name an `auto`
/// parameter, because the contract applies to all tile sizes that the compiler may choose.
Type CheckIntGeneric(FunctionState& state, const Entity& entity, const Expr* expr) {
  for (const IntGenericInfo& info : state.fn.generics) {
    if (!state.contract || info.entity != &entity || !info.is_auto) continue;
    state.diagnostics.Report(diag::AutoInContract, expr->span, entity.name.text())
        .Help("use a size, or a parameter with a value; a contract must be true for every choice");
    return Type{};
  }
  return LiteralType(false);
}

}  // namespace

Type CheckEntity(FunctionState& state, const Entity& entity, const Expr* expr, ExprInfo& info) {
  info.entity = &entity;
  info.size = entity.size;
  if (state.spmd_depth != 0 && state.core_dependent.contains(&entity)) {
    state.diagnostics.Report(diag::CoreDependentInSpmd, expr->span, entity.name.text())
        .Note(entity.span, "declared here");
    return Type{};
  }
  if (IsReportedAbsent(state, entity, expr->span)) return Type{};
  switch (entity.kind) {
    case EntityKind::Const:
      return CheckConstName(state, expr, info, &entity);
    case EntityKind::IntGeneric:
      return CheckIntGeneric(state, entity, expr);
    case EntityKind::Range:
      return entity.type.is_error() ? Type{} : CheckRangeName(state, &entity);
    case EntityKind::ScalarParam:
    case EntityKind::Let:
    case EntityKind::Var:
    case EntityKind::ScalarBinder:
      return Seen(state, entity.type);
    case EntityKind::SizeName:
    case EntityKind::TensorParam:
    case EntityKind::LocalTensor:
    case EntityKind::TileParam:
    case EntityKind::Pipe:
    case EntityKind::Auxiliary:
      return entity.type;
    case EntityKind::TypeList:
    case EntityKind::TypeGeneric:
    case EntityKind::FnGeneric:
    case EntityKind::Domain:
    case EntityKind::Stage:
    case EntityKind::Device:
    case EntityKind::Fn:
    case EntityKind::Kernel:
    case EntityKind::Program:
    case EntityKind::Import:
      state.diagnostics.Report(diag::NotAValue, expr->span, entity.name.text(),
                               Describe(entity.kind));
      return Type{};
  }
  return Type{};
}

Type CheckName(FunctionState& state, const syntax::NameExpr& name, ExprInfo& info) {
  const Entity* entity = state.scopes.Find(name.name);
  if (entity == nullptr && state.contract != nullptr && FindBuiltin(name.name.text()) == nullptr) {
    entity = DeclareFree(state, name.name, name.span);
  }
  if (entity == nullptr) return CheckBuiltinName(state, name, info);
  if (name.is_pack && !entity->is_pack) {
    state.diagnostics.Report(diag::NotAPack, name.span, name.name.text())
        .Note(entity->span, "declared here");
    return Type{};
  }
  return CheckEntity(state, *entity, &name, info);
}

}  // namespace kdl::sema
