#include "sema/constants.h"

#include <fmt/format.h>

#include "sema/coerce.h"
#include "sema/expr.h"
#include "sema/resolve.h"

namespace kdl::sema {

namespace {

/// Of the type that is written, or nothing where there is none or it is faulty.
std::optional<Scalar> DeclaredScalar(FunctionState& state, const syntax::TypeRef& type) {
  if (!type.dims.empty() || !type.elements.empty()) {
    state.diagnostics.Report(diag::ConstType, type.span);
    return std::nullopt;
  }
  return ResolveScalar(state, type.name);
}

std::optional<Literal> BoolValue(FunctionState& state, const syntax::Expr* expr) {
  const std::optional<Constant>& constant = state.fn.exprs[expr].constant;
  return constant ? std::optional(Literal::Int(static_cast<__int128>(constant->bits)))
                  : std::nullopt;
}

/// The value of the item, its entity's type set.
std::optional<Literal> Evaluate(FunctionState& state, const syntax::ConstItem& item,
                                Entity& entity) {
  std::optional<Scalar> scalar;
  if (item.type != nullptr) {
    scalar = DeclaredScalar(state, *item.type);
    if (!scalar) return std::nullopt;
  }
  std::optional<Literal> value = EvaluateLiteral(state, item.value, "the value of a const");
  if (!value) return std::nullopt;
  Type type = state.fn.exprs[item.value].type;
  if (scalar && !Fits(state, item.value, *scalar)) {
    state.diagnostics.Report(diag::ValueType, item.value->span, entity.name.text(),
                             Spelling(*scalar), ToString(type));
    return std::nullopt;
  }
  if (scalar && state.fn.exprs[item.value].type.is_error()) return std::nullopt;
  entity.type = scalar ? ValueType(*scalar) : type;
  std::optional<int64_t> integer = ToInt64(*value);
  bool is_integer = type.kind == TypeKind::IntLiteral && (!scalar || !IsFloat(*scalar));
  if (integer && is_integer) entity.size = state.module.sizes.Constant(*integer);
  return value;
}

}  // namespace

std::optional<Literal> EvaluateLiteral(FunctionState& state, const syntax::Expr* expr,
                                       std::string_view what) {
  Type type = CheckValue(state, expr);
  if (type.is_error()) return std::nullopt;
  auto literal = state.literals.find(expr);
  if (literal != state.literals.end()) return literal->second;
  std::optional<Literal> value;
  if (type.is_scalar() && type.scalar == Scalar::Bool) value = BoolValue(state, expr);
  if (!value) {
    state.diagnostics.Report(diag::NotConstant, expr->span, what)
        .Help("it is made of numbers, consts and arithmetic");
  }
  return value;
}

std::optional<Literal> EvaluateConst(ModuleState& module, const Entity* entity) {
  auto known = module.const_values.find(entity);
  if (known != module.const_values.end()) return known->second;
  const auto& [item, file] = module.const_items.at(entity);
  if (!module.const_seen.insert(entity).second) {
    if (!entity->type.is_error() || module.const_failed.contains(entity)) return std::nullopt;
    module.diagnostics.Report(diag::ConstCycle, item->span, entity->name.text());
    module.const_failed.insert(entity);
    return std::nullopt;
  }
  FunctionGroup group;
  CheckedFunction scratch;
  FunctionState state(module, group, scratch, module.diagnostics, file->items);
  state.in_const = true;
  std::optional<Literal> value = Evaluate(state, *item, const_cast<Entity&>(*entity));
  if (value) {
    module.const_values.emplace(entity, *value);
  } else {
    module.const_failed.insert(entity);
  }
  return value;
}

std::optional<Literal> ConstValue(FunctionState& state, const Entity* entity) {
  return EvaluateConst(state.module, entity);
}

}  // namespace kdl::sema
