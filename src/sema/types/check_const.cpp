#include "sema/walk/constants.h"

#include <fmt/format.h>

#include "sema/types/coerce.h"
#include "sema/types/literal_value.h"
#include "sema/types/tables.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

/// Returns the scalar type that is declared, or nothing if the declaration has an error.
std::optional<Scalar> DeclaredScalar(FunctionState& state, const syntax::TypeRef& type) {
  if (!type.elements.empty() || type.has_brackets) {
    state.diagnostics.Report(diag::ConstType, type.span);
    return std::nullopt;
  }
  return ResolveScalar(state, type.name);
}

/// Evaluates a `const` item and sets the type of its entity.
std::optional<Literal> Evaluate(FunctionState& state, const syntax::ConstItem& item,
                                Entity& entity) {
  std::optional<Scalar> scalar;
  if (item.type != nullptr) {
    scalar = DeclaredScalar(state, *item.type);
    if (!scalar) return std::nullopt;
  }
  if (item.value->kind == syntax::ExprKind::List) {
    state.diagnostics.Report(diag::ConstList, item.value->span, entity.name.text())
        .Help(fmt::format("write its type, with its size: const {}: {}[{}] = …;",
                          entity.name.text(), scalar ? Spelling(*scalar) : "f32",
                          syntax::As<syntax::ListExpr>(item.value).elements.size()));
    return std::nullopt;
  }
  std::optional<Literal> value = EvaluateLiteral(state, item.value, "the value of a const");
  if (!value) return std::nullopt;
  Type type = state.fn.exprs[item.value].type;
  if (scalar && !Fits(state, item.value, *scalar)) {
    state.diagnostics
        .Report(diag::ValueType, item.value->span, entity.name.text(), Spelling(*scalar),
                ToString(type))
        .Help(ConvertHelp(state, item.value, *scalar));
    return std::nullopt;
  }
  if (scalar && state.fn.exprs[item.value].type.is_error()) return std::nullopt;
  entity.type = scalar ? ValueType(*scalar) : type;
  std::optional<int64_t> integer = ToInt64(*value);
  bool is_number =
      type.kind == TypeKind::IntLiteral || (type.is_scalar() && IsInteger(type.scalar));
  bool is_integer = is_number && (!scalar || !IsFloat(*scalar));
  if (integer && is_integer) entity.size = state.module.sizes.Constant(*integer);
  return value;
}

}  // namespace

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
  auto& evaluated = const_cast<Entity&>(*entity);
  if (item->type != nullptr && !item->type->dims.empty()) {
    if (!EvaluateTable(state, *item, evaluated)) module.const_failed.insert(entity);
    return std::nullopt;
  }
  std::optional<Literal> value = Evaluate(state, *item, evaluated);
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
