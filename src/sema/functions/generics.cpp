#include "sema/functions/generics.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "sema/functions/defines.h"
#include "sema/functions/function_params.h"
#include "sema/functions/optional_params.h"
#include "sema/functions/type_lists.h"
#include "sema/types/literal_value.h"
#include "sema/walk/resolve.h"
#include "support/near_names.h"

namespace kdl::sema {

namespace {

using syntax::FunctionItem;
using syntax::FunctionKind;
using syntax::GenericParam;

/// If a function has at most this many combinations of types, all of them are checked, so that errors are found
/// even if nothing uses it. Otherwise, only those that are used are checked.
constexpr size_t kMostAtOnce = 64;
/// More instances than this would take minutes to compile, so that a mistake is more likely.
constexpr size_t kMostInstances = 4096;

/// Returns the types that the declaration of a type parameter lists. If one of them is unknown or occurs
/// twice, reports an error and returns an empty list.
std::vector<Scalar> WrittenKinds(ModuleState& module, const FileState& file,
                                 const GenericParam& generic) {
  std::vector<Scalar> kinds = ListedTypes(module, file, generic.kinds, TypeListPlace::Parameter);
  if (kinds.empty()) return {};
  if (generic.default_value != nullptr) {
    module.diagnostics
        .Report(diag::TypeDefault, generic.default_value->span, generic.name.name.text())
        .Help("remove the default; -D selects among the types");
  }
  if (!generic.choices.empty()) {
    module.diagnostics.Report(diag::TypeChoices, generic.choices[0]->span,
                              generic.name.name.text());
  }
  return kinds;
}

/// Returns the types that -D excludes. -D applies to kernels and programs only, because a fn is
/// instantiated for the types of its calls.
std::vector<Scalar> LeftOutKinds(ModuleState& module, const FunctionGroup& group,
                                 const GenericParam& generic, const std::vector<Scalar>& kinds) {
  const Define* define = FindDefine(module, *group.item, generic.name.name);
  if (define == nullptr || group.item->function_kind == FunctionKind::Fn || kinds.empty())
    return {};
  bool all_are_types = std::ranges::all_of(
      define->values, [](const std::string& text) { return ScalarFromSpelling(text).has_value(); });
  std::vector<Scalar> left_out = kinds;
  std::erase_if(left_out, [&](Scalar kind) {
    return std::find(define->values.begin(), define->values.end(), Spelling(kind)) !=
           define->values.end();
  });
  if (all_are_types && left_out.size() < kinds.size()) return left_out;
  module.diagnostics.Report(diag::DefineKind, generic.name.span, generic.name.name.text(),
                            fmt::format("{}", fmt::join(define->values, ",")), TypesText(kinds));
  return {};
}

/// The types that a type parameter allows.
struct KindChoices {
  Name name;
  std::vector<Scalar> kinds;
  std::vector<Scalar> left_out;  ///< those that -D excludes
  bool is_defined = false;       ///< -D selects some of the types
};

/// Returns the types of each type parameter, and stores them in the group.
std::vector<KindChoices> WrittenChoices(ModuleState& module, FunctionGroup& group) {
  std::vector<KindChoices> parameters;
  bool is_fn = group.item->function_kind == FunctionKind::Fn;
  for (const GenericParam& generic : group.item->generics) {
    if (!IsTypeGeneric(generic)) continue;
    KindChoices& parameter = parameters.emplace_back();
    parameter.name = generic.name.name;
    parameter.kinds = WrittenKinds(module, *group.file, generic);
    parameter.left_out = LeftOutKinds(module, group, generic, parameter.kinds);
    parameter.is_defined = !is_fn && FindDefine(module, *group.item, generic.name.name) != nullptr;
    group.kinds.push_back(parameter.kinds);
  }
  return parameters;
}

/// Returns the number of combinations, or a number above all limits.
size_t CountCombinations(const syntax::FunctionItem& item,
                         const std::vector<KindChoices>& parameters) {
  size_t count = size_t{1} << OptionalParams(item).size();
  for (const KindChoices& parameter : parameters)
    count = std::min(count * parameter.kinds.size(), kMostInstances + 1);
  return count;
}

/// Keeps the types that -D selects. Without -D, keeps one combination, for which the body is always checked.
void KeepWanted(std::vector<KindChoices>& parameters) {
  bool any = std::ranges::any_of(parameters, &KindChoices::is_defined);
  for (KindChoices& parameter : parameters) {
    std::erase_if(parameter.kinds, [&](Scalar kind) {
      return std::ranges::find(parameter.left_out, kind) != parameter.left_out.end();
    });
    parameter.left_out.clear();
    if (!any) parameter.kinds.resize(1);
  }
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole ? std::optional(value) : std::nullopt;
}

bool IsChoice(const IntGenericInfo& info, int64_t value) {
  return info.choices.empty() ||
         std::find(info.choices.begin(), info.choices.end(), value) != info.choices.end();
}

void TakeDefines(FunctionState& state, const GenericParam& generic, const Define& define,
                 IntGenericInfo& info) {
  info.is_auto = false;
  info.values.clear();
  for (const std::string& text : define.values) {
    std::optional<int64_t> value = ParseInteger(text);
    if (!value) {
      state.diagnostics.Report(diag::DefineNotInteger, generic.name.span, define.name, text);
    } else if (!IsChoice(info, *value)) {
      state.diagnostics.Report(diag::DefineChoice, generic.name.span, define.name, *value,
                               fmt::format("{}", fmt::join(info.choices, ", ")));
    } else if (std::find(info.values.begin(), info.values.end(), *value) == info.values.end()) {
      info.values.push_back(*value);
    }
  }
  info.is_faulty = info.values.empty();
}

void DeclareInt(FunctionState& state, const GenericParam& generic) {
  Entity* entity = Declare(state, EntityKind::IntGeneric, generic.name);
  entity->size = state.module.sizes.Symbol(generic.name.name);
  IntGenericInfo info;
  info.entity = entity;
  for (const syntax::Expr* choice : generic.choices) {
    if (std::optional<int64_t> value = EvaluateInteger(state, choice, "a choice")) {
      info.choices.push_back(*value);
    }
  }
  info.is_auto = syntax::DynAs<syntax::AutoLit>(generic.default_value) != nullptr;
  bool is_fn = state.kind() == FunctionKind::Fn;
  if (info.is_auto && is_fn) {
    state.diagnostics.Report(diag::AutoInFn, generic.default_value->span, generic.name.name.text())
        .Help("remove the default: each call gives the value");
  }
  if (generic.default_value != nullptr && !info.is_auto) {
    std::optional<int64_t> value = EvaluateInteger(state, generic.default_value, "a default");
    if (value) info.values.push_back(*value);
    if (value && !IsChoice(info, *value)) {
      state.diagnostics.Report(diag::DefaultChoice, generic.default_value->span, *value,
                               generic.name.name.text());
    }
  }
  const Define* define = FindDefine(state.module, *state.fn.item, generic.name.name);
  if (define != nullptr && !is_fn) TakeDefines(state, generic, *define, info);
  state.fn.generics.push_back(std::move(info));
}

}  // namespace

bool IsIntGeneric(const GenericParam& generic) {
  const std::vector<syntax::TypeName>& kinds = generic.kinds;
  return kinds.size() == 1 && !kinds[0].member && kinds[0].name.text() == "int";
}

const std::vector<Scalar>& KindsOf(const FunctionGroup& group, Name name) {
  static const std::vector<Scalar> kNone;
  size_t next = 0;
  for (const GenericParam& generic : group.item->generics) {
    if (!IsTypeGeneric(generic)) continue;
    if (generic.name.name == name && next < group.kinds.size()) return group.kinds[next];
    ++next;
  }
  return kNone;
}

bool IsTypeGeneric(const GenericParam& generic) {
  return generic.function == nullptr && !IsIntGeneric(generic);
}

std::vector<KindCombination> KindCombinations(ModuleState& module, FunctionGroup& group) {
  std::vector<KindChoices> parameters = WrittenChoices(module, group);
  if (CountCombinations(*group.item, parameters) > kMostAtOnce && !IsHeaderItem(module, group)) {
    group.is_lazy = true;
    KeepWanted(parameters);
  }
  if (CountCombinations(*group.item, parameters) > kMostInstances) {
    module.diagnostics
        .Report(diag::TooManyKinds, group.item->name.span, group.item->name.name.text(),
                kMostInstances)
        .Help(fmt::format("select types: -D {}={}", parameters[0].name.text(),
                          Spelling(parameters[0].kinds[0])));
    return {};
  }
  DeclareFunctionChoices(module, group);
  std::vector<KindCombination> combinations;
  std::vector<std::vector<const Entity*>> wanted = WantedFunctions(module, group);
  for (std::vector<const Entity*>& functions : wanted)
    combinations.push_back({{}, std::move(functions), {}, false, wanted.size() == 1});
  for (const KindChoices& parameter : parameters) {
    std::vector<KindCombination> longer;
    for (const KindCombination& combination : combinations) {
      for (Scalar kind : parameter.kinds) {
        longer.push_back(combination);
        longer.back().kinds.push_back(kind);
        longer.back().left_out |=
            std::ranges::find(parameter.left_out, kind) != parameter.left_out.end();
      }
    }
    combinations = std::move(longer);
  }
  std::vector<KindCombination> all;
  for (const KindCombination& combination : combinations) {
    for (std::vector<OptionalInfo>& optionals : OptionalCombinations(*group.item)) {
      all.push_back(combination);
      all.back().optionals = std::move(optionals);
    }
  }
  return all;
}

void DeclareGenerics(FunctionState& state, const KindCombination& combination) {
  state.fn.optionals = combination.optionals;
  size_t next = 0;
  for (const GenericParam& generic : state.fn.item->generics) {
    if (IsIntGeneric(generic)) {
      DeclareInt(state, generic);
    } else if (IsTypeGeneric(generic)) {
      Entity* entity = Declare(state, EntityKind::TypeGeneric, generic.name);
      state.fn.types.push_back({entity, combination.kinds[next++]});
    }
  }
  DeclareFunctions(state, combination.functions);
}

void CheckDefines(ModuleState& module, const std::vector<const syntax::Item*>& items) {
  std::vector<std::string_view> names;
  for (const syntax::Item* item : items) {
    const auto* function = syntax::DynAs<FunctionItem>(item);
    if (function == nullptr) continue;
    for (const GenericParam& generic : function->generics) {
      names.push_back(generic.name.name.text());
    }
  }
  for (const Define& define : module.options.defines) {
    if (std::find(names.begin(), names.end(), define.name) != names.end()) continue;
    Diagnostic& report = module.diagnostics.Report(diag::UnknownDefine, Span{}, define.name);
    std::string_view nearest = NearestName(define.name, names);
    if (!nearest.empty()) report.Help(fmt::format("did you mean '{}'?", nearest));
  }
}

}  // namespace kdl::sema
