#include "sema/functions/function_params.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sema/functions/defines.h"
#include "sema/model/builtins.h"
#include "sema/model/written_name.h"
#include "sema/walk/imports.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::Expr;
using syntax::FunctionKind;
using syntax::GenericParam;

/// Returns the names of fns as a list for a message: `relu, gelu or silu`.
std::string Alternatives(const std::vector<const Entity*>& functions) {
  std::string text;
  for (const Entity* function : functions) {
    std::string_view joint = function == functions.front()  ? ""
                             : function == functions.back() ? " or "
                                                            : ", ";
    text += fmt::format("{}{}", joint, WrittenName(*function));
  }
  return text;
}

/// Returns the fn with this name among the items of a file, or null.
const Entity* FindIn(const Scope& items, std::string_view name, EntityKind kind) {
  for (const auto& [known, entity] : items)
    if (known.text() == name && entity->kind == kind) return entity;
  return nullptr;
}

/// Returns the library's fn for a builtin function as a value, or null.
const Entity* FindBuiltinValue(const ModuleState& module, std::string_view name) {
  if (FindBuiltin(name) == nullptr) return nullptr;
  auto found = module.library_by_text.find(fmt::format("{}{}", name, kValueSuffix));
  return found == module.library_by_text.end() ? nullptr : found->second;
}

/// Returns the fn that a value of -D names, such as `relu`, `nn.relu` or `exp`, or null.
const Entity* FindDefined(const ModuleState& module, const FileState& file, std::string_view text) {
  size_t dot = text.find('.');
  if (dot == std::string_view::npos) {
    const Entity* function = FindIn(file.items, text, EntityKind::Fn);
    return function != nullptr ? function : FindBuiltinValue(module, text);
  }
  const Entity* import = FindIn(file.items, text.substr(0, dot), EntityKind::Import);
  if (import == nullptr) return nullptr;
  const Entity* function = FindIn(import->file->items, text.substr(dot + 1), EntityKind::Fn);
  return function != nullptr && function->function->exported ? function : nullptr;
}

bool Allows(const FunctionChoices& choices, const Entity* function) {
  return choices.allowed.empty() ||
         std::ranges::find(choices.allowed, function) != choices.allowed.end();
}

void ReportChoice(DiagnosticEngine& diagnostics, const FunctionChoices& choices,
                  const Entity* function, Span at) {
  diagnostics.Report(diag::FunctionChoice, at, WrittenName(*function),
                     choices.generic->name.name.text(), Alternatives(choices.allowed));
}

/// Returns the function parameter that the default of another one names although it is declared after it, or
/// null.
const GenericParam* FindLater(const FunctionGroup& group, const GenericParam& generic) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(generic.default_value);
  bool is_after = false;
  for (const GenericParam& other : group.item->generics) {
    if (is_after && name != nullptr && other.function != nullptr && other.name.name == name->name)
      return &other;
    is_after = is_after || &other == &generic;
  }
  return nullptr;
}

FunctionChoices Evaluate(ModuleState& module, const FunctionGroup& group,
                         const GenericParam& generic) {
  const FileState& file = *group.file;
  FunctionGroup scratch_group;
  CheckedFunction scratch;
  FunctionState state(module, scratch_group, scratch, module.diagnostics, file.items);
  FunctionChoices choices;
  choices.generic = &generic;
  for (const Expr* choice : generic.choices) {
    if (const Entity* function = ResolveFunction(state, choice))
      choices.allowed.push_back(function);
  }
  choices.is_faulty = choices.allowed.size() != generic.choices.size();
  if (generic.default_value == nullptr || choices.is_faulty) return choices;
  if (SameAs(group, generic)) return choices;
  if (const GenericParam* later = FindLater(group, generic)) {
    std::string_view name = later->name.name.text();
    module.diagnostics.Report(diag::NotAFunction, generic.default_value->span, std::string(name))
        .Help(fmt::format("'{}' is declared after '{}'; declare it before", name,
                          generic.name.name.text()));
    choices.is_faulty = true;
    return choices;
  }
  choices.fallback = ResolveFunction(state, generic.default_value);
  choices.is_faulty = choices.fallback == nullptr;
  if (choices.is_faulty || Allows(choices, choices.fallback)) return choices;
  ReportChoice(module.diagnostics, choices, choices.fallback, generic.default_value->span);
  choices.is_faulty = true;
  return choices;
}

/// Returns the fns that -D gives for a parameter. If -D gives none, returns the default if that is a fn.
std::vector<const Entity*> Wanted(ModuleState& module, const FunctionGroup& group,
                                  const FunctionChoices& choices) {
  std::vector<const Entity*> wanted;
  const Define* define = group.item->function_kind == FunctionKind::Fn
                             ? nullptr
                             : FindDefine(module, *group.item, choices.generic->name.name);
  if (define == nullptr || group.file != module.file) {
    if (choices.fallback != nullptr) wanted.push_back(choices.fallback);
    return wanted;
  }
  for (const std::string& text : define->values) {
    const Entity* function = FindDefined(module, *group.file, text);
    if (function != nullptr && Allows(choices, function)) {
      wanted.push_back(function);
      continue;
    }
    module.diagnostics.Report(diag::DefineKind, choices.generic->name.span,
                              choices.generic->name.name.text(), text,
                              choices.allowed.empty() ? "a fn of this file or a builtin function"
                                                      : Alternatives(choices.allowed));
  }
  return wanted;
}

/// Returns the fn of the parameter that is the default. If the parameter must not be this fn, reports an error
/// and returns nothing.
std::vector<const Entity*> Same(ModuleState& module, const FunctionChoices& choices,
                                const Entity* function) {
  if (Allows(choices, function)) return {function};
  ReportChoice(module.diagnostics, choices, function, choices.generic->default_value->span);
  return {};
}

}  // namespace

const Entity* ResolveFunction(FunctionState& state, const Expr* expr) {
  const Entity* entity = nullptr;
  const auto* field = syntax::DynAs<syntax::FieldExpr>(expr);
  const Entity* import = field != nullptr && field->name ? ImportOf(state, field->base) : nullptr;
  if (import != nullptr) {
    entity = ResolveMember(state, *import, field->name);
    if (entity == nullptr) return nullptr;
  } else if (const auto* name = syntax::DynAs<syntax::NameExpr>(expr)) {
    entity = state.scopes.Find(name->name);
    if (entity == nullptr) entity = FindBuiltinValue(state.module, name->name.text());
  }
  if (entity != nullptr && entity->kind == EntityKind::FnGeneric)
    return state.fn.Bound(entity).function;
  if (entity != nullptr && entity->kind == EntityKind::Fn) return entity;
  state.diagnostics.Report(diag::NotAFunction, expr->span, Quote(state, expr))
      .Help(
          "name a fn or a builtin function without its arguments; if a function needs other "
          "arguments, declare a fn that calls it: fn f(x: f32) -> f32 { return g(x, 0.5); }");
  return nullptr;
}

std::optional<size_t> SameAs(const FunctionGroup& group, const GenericParam& generic) {
  const auto* name = generic.default_value != nullptr
                         ? syntax::DynAs<syntax::NameExpr>(generic.default_value)
                         : nullptr;
  if (name == nullptr) return std::nullopt;
  size_t number = 0;
  for (const GenericParam& other : group.item->generics) {
    if (&other == &generic) return std::nullopt;
    if (other.function == nullptr) continue;
    if (other.name.name == name->name) return number;
    ++number;
  }
  return std::nullopt;
}

void DeclareFunctionChoices(ModuleState& module, FunctionGroup& group) {
  for (const GenericParam& generic : group.item->generics) {
    if (generic.function == nullptr) continue;
    group.functions.push_back(Evaluate(module, group, generic));
    group.is_lazy = true;
  }
}

std::vector<std::vector<const Entity*>> WantedFunctions(ModuleState& module,
                                                        const FunctionGroup& group) {
  std::vector<std::vector<const Entity*>> combinations(1);
  for (const FunctionChoices& choices : group.functions) {
    size_t errors_before = module.diagnostics.error_count();
    std::vector<const Entity*> wanted = Wanted(module, group, choices);
    bool is_reported = choices.is_faulty || module.diagnostics.error_count() != errors_before;
    std::optional<size_t> same = SameAs(group, *choices.generic);
    bool is_same = wanted.empty() && same && !is_reported;
    if (wanted.empty() && IsHeaderItem(module, group) && !is_reported && !is_same) {
      const GenericParam& generic = *choices.generic;
      module.diagnostics
          .Report(diag::ExportedFunction, generic.span, group.item->name.name.text(),
                  generic.name.name.text())
          .Help(fmt::format("give it a default, {}: {} = f, or export a program that launches '{}'",
                            generic.name.name.text(), module.sources.text(generic.function->span),
                            group.item->name.name.text()));
    }
    std::vector<std::vector<const Entity*>> longer;
    for (const auto& combination : combinations) {
      if (is_same) wanted = Same(module, choices, combination[*same]);
      for (const Entity* function : wanted) {
        longer.push_back(combination);
        longer.back().push_back(function);
      }
    }
    combinations = std::move(longer);
  }
  return combinations;
}

bool CheckFunctionChoice(FunctionState& state, const FunctionGroup& group, size_t number,
                         const Entity* function, Span at) {
  const FunctionChoices& choices = group.functions[number];
  if (choices.is_faulty) return false;
  if (Allows(choices, function)) return true;
  ReportChoice(state.diagnostics, choices, function, at);
  return false;
}

void DeclareFunctions(FunctionState& state, const std::vector<const Entity*>& functions) {
  size_t next = 0;
  for (const GenericParam& generic : state.fn.item->generics) {
    if (generic.function == nullptr) continue;
    FunctionBinding& binding = state.fn.functions.emplace_back();
    binding.generic = Declare(state, EntityKind::FnGeneric, generic.name);
    binding.function = next < functions.size() ? functions[next++] : nullptr;
    auto scalar = [&](const syntax::TypeRef* type) {
      bool is_scalar = !type->has_brackets && type->elements.empty();
      if (!is_scalar) state.diagnostics.Report(diag::FunctionParamType, type->span);
      return is_scalar ? ResolveScalar(state, type->name).value_or(Scalar::F32) : Scalar::F32;
    };
    for (const syntax::TypeRef* type : generic.function->params)
      binding.params.push_back(scalar(type));
    binding.result = scalar(generic.function->result);
  }
}

}  // namespace kdl::sema
