#include "sema/functions/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sema/functions/defines.h"
#include "sema/functions/devices.h"
#include "sema/functions/function_params.h"
#include "sema/functions/generics.h"
#include "sema/functions/signature.h"
#include "sema/functions/type_lists.h"
#include "sema/functions/type_tests.h"
#include "sema/model/written_name.h"
#include "sema/walk/resolve.h"
#include "support/near_names.h"

namespace kdl::sema {

namespace {

CheckedFunction* MakeInstance(ModuleState& module, FunctionGroup& group,
                              const KindCombination& combination) {
  auto* fn = module.arena.Make<CheckedFunction>(CheckedFunction{});
  fn->item = group.item;
  fn->entity = group.entity;
  fn->imported = group.file != module.file;
  fn->left_out = combination.left_out;
  fn->prefix = group.file->prefix;
  if (fn->imported) fn->device = OnlyDevice(*group.file);
  group.instances.push_back(fn);
  group.reports.push_back(module.arena.Make<DiagnosticEngine>());
  FunctionState state = Open(module, group, group.instances.size() - 1);
  DeclareGenerics(state, combination);
  fn->item = SelectBranches(state, *group.item);
  CheckSignature(state);
  return fn;
}

std::string TypeText(const FunctionBinding& binding) {
  std::string params;
  for (Scalar param : binding.params)
    params += fmt::format("{}{}", params.empty() ? "" : ", ", Spelling(param));
  return fmt::format("fn({}) -> {}", params, Spelling(binding.result));
}

/// Returns whether the fn accepts numbers of the stated types and returns a number of the stated type.
bool HasType(FunctionState& state, const FunctionBinding& binding, Span at) {
  FunctionGroup& group = Require(state.module, binding.function);
  if (group.item->params.size() != binding.params.size()) return false;
  if (group.instances.empty() && !group.is_lazy) return true;  // its declaration has an error
  // The search must not report anything, because the caller reports the whole type.
  DiagnosticEngine ignored;
  FunctionGroup own = state.group;
  FunctionState quiet(state.module, own, state.fn, ignored, state.group.file->items);
  const CheckedFunction* instance = Choose(quiet, group, BoundKinds(group, binding, at), at);
  if (instance == nullptr) return false;
  for (size_t i = 0; i < binding.params.size(); ++i) {
    const Type& type = instance->params[i].entity->type;
    if (!type.is_error() && !(type.is_scalar() && type.scalar == binding.params[i])) return false;
  }
  const Type& result = instance->result;
  return result.is_error() || (result.is_scalar() && result.scalar == binding.result);
}

/// Checks that the fns of an instance have the types that its function parameters state. Otherwise reports an
/// error at `at`, and returns false.
bool CheckFunctionTypes(FunctionState& state, const CheckedFunction& instance, Span at) {
  for (const FunctionBinding& binding : instance.functions) {
    if (binding.function == nullptr) return false;
    if (HasType(state, binding, at)) continue;
    state.diagnostics
        .Report(diag::FunctionType, at, WrittenName(*binding.function), TypeText(binding),
                binding.generic->name.text(), instance.item->name.name.text())
        .Note(binding.function->span,
              fmt::format("'{}' is declared here", WrittenName(*binding.function)))
        .Note(binding.generic->span, "the function parameter is declared here");
    return false;
  }
  return true;
}

}  // namespace

void DeclareSignatures(ModuleState& module, FunctionGroup& group) {
  if (std::exchange(group.signatures_done, true)) return;
  for (const KindCombination& combination : KindCombinations(module, group)) {
    CheckedFunction* instance = MakeInstance(module, group, combination);
    if (instance->functions.empty()) continue;
    instance->is_for_header = combination.is_only_value && IsHeaderItem(module, group);
    FunctionState state = Open(module, group, group.instances.size() - 1);
    if (!CheckFunctionTypes(state, *instance, group.item->name.span)) instance->is_checked = true;
  }
}

FunctionState Open(ModuleState& module, FunctionGroup& group, size_t instance) {
  CheckedFunction& fn = *group.instances[instance];
  FunctionState state(module, group, fn, *group.reports[instance], group.file->items);
  for (const Entity* entity : fn.entities) state.scopes.Add(entity);
  return state;
}

FunctionGroup& Require(ModuleState& module, const Entity* entity) {
  FunctionGroup& group = *module.groups.at(entity);
  bool is_new = !group.signatures_done;
  DeclareSignatures(module, group);
  if (is_new && group.file != module.file) module.pending_bodies.push_back(&group);
  return group;
}

const Entity* LibraryFunction(const ModuleState& module, std::string_view name) {
  auto found = module.library_by_text.find(name);
  return found == module.library_by_text.end() ? nullptr : found->second;
}

std::vector<KindChoice> BoundKinds(const FunctionGroup& group, const FunctionBinding& binding,
                                   Span span) {
  std::vector<KindChoice> choices;
  for (size_t i = 0; i < std::min(group.item->params.size(), binding.params.size()); ++i)
    choices.push_back(
        {syntax::PlainName(group.item->params[i].type->name), binding.params[i], span});
  if (group.item->result != nullptr)
    choices.push_back({syntax::PlainName(group.item->result->name), binding.result, span});
  return choices;
}

bool NamesEachOnce(FunctionState& state, const syntax::CallExpr& call) {
  std::set<Name> names;
  bool ok = true;
  for (const syntax::Arg& arg : call.generics) {
    if (names.insert(arg.name.name).second) continue;
    state.diagnostics.Report(diag::GenericTwice, arg.span, arg.name.name.text());
    ok = false;
  }
  return ok;
}

std::optional<KindChoice> NamedKind(FunctionState& state, const FunctionGroup& callee,
                                    const syntax::Arg& arg) {
  for (const syntax::GenericParam& generic : callee.item->generics) {
    if (generic.name.name != arg.name.name) continue;
    if (IsIntGeneric(generic)) return std::nullopt;
    if (generic.function != nullptr) {
      const Entity* function = ResolveFunction(state, arg.value);
      if (function == nullptr) return std::nullopt;
      return KindChoice{generic.name.name, Scalar::F32, arg.value->span, function};
    }
    std::optional<syntax::TypeName> name = syntax::AsTypeName(arg.value);
    if (!name) {
      state.diagnostics.Report(diag::UnknownType, arg.value->span, state.Text(arg.value->span));
      return std::nullopt;
    }
    std::optional<Scalar> scalar = ResolveScalar(state, *name);
    if (!scalar) return std::nullopt;
    return KindChoice{generic.name.name, *scalar, arg.span};
  }
  Diagnostic& report = state.diagnostics.Report(
      diag::UnknownGeneric, arg.name.span, callee.item->name.name.text(), arg.name.name.text());
  std::vector<std::string_view> names;
  names.reserve(callee.item->generics.size());
  for (const syntax::GenericParam& generic : callee.item->generics) {
    names.push_back(generic.name.name.text());
  }
  std::string_view nearest = NearestName(arg.name.name.text(), names);
  if (!nearest.empty()) report.Help(fmt::format("did you mean '{}'?", nearest));
  return std::nullopt;
}

namespace {

/// Returns the type chosen for one parameter. Reports an error and returns null if there is no choice or
/// the choices differ.
const KindChoice* ChoiceOf(FunctionState& state, const FunctionGroup& callee, Name generic,
                           const std::vector<KindChoice>& choices, Span at) {
  const KindChoice* first = nullptr;
  for (const KindChoice& choice : choices) {
    if (choice.generic != generic) continue;
    if (first != nullptr && first->scalar != choice.scalar) {
      state.diagnostics
          .Report(diag::KindConflict, choice.span, generic.text(), callee.item->name.name.text(),
                  Spelling(first->scalar), Spelling(choice.scalar))
          .Note(first->span,
                fmt::format("'{}' is {} here", generic.text(), Spelling(first->scalar)));
      return nullptr;
    }
    if (first == nullptr) first = &choice;
  }
  if (first == nullptr) {
    state.diagnostics.Report(diag::KindUnknown, at, generic.text(), callee.item->name.name.text())
        .Help(fmt::format("name the type: {}<{} = f32>(…)", callee.item->name.name.text(),
                          generic.text()));
  }
  return first;
}

/// Returns the fn that a call gives to the next function parameter, or its default. Otherwise reports an error
/// and returns null. `chosen` has the fns of the parameters before it.
const Entity* ChosenFunction(FunctionState& state, const FunctionGroup& callee,
                             const std::vector<const Entity*>& chosen,
                             const std::vector<KindChoice>& choices, Span at) {
  size_t number = chosen.size();
  const FunctionChoices& parameter = callee.functions[number];
  Name name = parameter.generic->name.name;
  for (const KindChoice& choice : choices) {
    if (choice.generic != name || choice.function == nullptr) continue;
    bool is_allowed = CheckFunctionChoice(state, callee, number, choice.function, choice.span);
    return is_allowed ? choice.function : nullptr;
  }
  if (std::optional<size_t> same = SameAs(callee, *parameter.generic)) {
    const Entity* function = chosen[*same];
    return CheckFunctionChoice(state, callee, number, function, at) ? function : nullptr;
  }
  if (parameter.fallback == nullptr && !parameter.is_faulty) {
    std::string_view function = callee.item->name.name.text();
    state.diagnostics.Report(diag::FunctionUnknown, at, name.text(), function)
        .Note(parameter.generic->span, "declared here")
        .Help(fmt::format("name a fn: {}<{} = f>(…)", function, name.text()));
  }
  return parameter.fallback;
}

const InstanceOrigin* OriginOf(const FunctionGroup& group, const CheckedFunction& instance) {
  auto known = group.origins.find(&instance);
  return known != group.origins.end() ? known->second : nullptr;
}

/// Returns where a call gives a fn, or `at`.
Span FunctionSpan(const std::vector<KindChoice>& choices, Span at) {
  for (const KindChoice& choice : choices)
    if (choice.function != nullptr) return choice.span;
  return at;
}

/// Returns the type with which a fn is instantiated in a contract. Contracts have only one float type and
/// one integer type; for these, the widest type that the parameter allows is chosen.
Scalar KindFor(const FunctionGroup& callee, const KindChoice& choice) {
  std::vector<Scalar> kinds = KindsOf(callee, choice.generic);
  auto group_of = [](Scalar scalar) {
    return IsInteger(scalar) ? ScalarGroup::Signed : Info(scalar).group;
  };
  std::erase_if(kinds, [&](Scalar kind) { return group_of(kind) != group_of(choice.scalar); });
  auto wider = [](Scalar a, Scalar b) { return Info(a).bits < Info(b).bits; };
  bool exact = std::find(kinds.begin(), kinds.end(), choice.scalar) != kinds.end();
  return exact || kinds.empty() ? choice.scalar
                                : *std::max_element(kinds.begin(), kinds.end(), wider);
}

}  // namespace

CheckedFunction* Choose(FunctionState& state, const FunctionGroup& callee,
                        const std::vector<KindChoice>& choices, Span at,
                        const std::vector<OptionalInfo>& optionals) {
  std::vector<const KindChoice*> chosen;
  for (const syntax::GenericParam& generic : callee.item->generics) {
    if (!IsTypeGeneric(generic)) continue;
    chosen.push_back(ChoiceOf(state, callee, generic.name.name, choices, at));
    if (chosen.back() == nullptr) return nullptr;
  }
  auto kind_of = [&](const KindChoice& choice) {
    return state.contract != nullptr ? KindFor(callee, choice) : choice.scalar;
  };
  std::vector<Scalar> kinds;
  for (const KindChoice* choice : chosen) {
    kinds.push_back(kind_of(*choice));
    const std::vector<Scalar>& allowed = KindsOf(callee, choice->generic);
    if (std::ranges::find(allowed, kinds.back()) != allowed.end()) continue;
    state.diagnostics
        .Report(diag::NoSuchKind, choice->span, callee.item->name.name.text(),
                choice->generic.text(), Spelling(choice->scalar), TypesText(allowed))
        .Note(callee.item->name.span,
              fmt::format("'{}' is declared here", callee.item->name.name.text()));
    return nullptr;
  }
  std::vector<const Entity*> functions;
  while (functions.size() < callee.functions.size()) {
    functions.push_back(ChosenFunction(state, callee, functions, choices, at));
    if (functions.back() == nullptr) return nullptr;
  }
  FunctionGroup& group = *state.module.groups.at(callee.entity);
  auto has_kinds = [&](const CheckedFunction* instance) {
    return std::ranges::equal(instance->types, kinds, {}, &TypeBinding::scalar) &&
           std::ranges::equal(instance->functions, functions, {}, &FunctionBinding::function) &&
           instance->optionals == optionals;
  };
  auto known = std::ranges::find_if(group.instances, has_kinds);
  if (known == group.instances.end()) {
    if (!group.is_lazy) return nullptr;
    CheckedFunction* made =
        MakeInstance(state.module, group, {kinds, functions, optionals, false, false});
    group.origins[made] = state.module.arena.Make<InstanceOrigin>(
        InstanceOrigin{at, OriginOf(state.group, state.fn)});
    made->is_checked = !CheckFunctionTypes(state, *made, FunctionSpan(choices, at));
    if (made->is_checked) return nullptr;
    state.module.pending_bodies.push_back(&group);
    return made;
  }
  CheckedFunction* instance = *known;
  if (instance->left_out && !std::exchange(instance->is_launched, true))
    state.module.pending_bodies.push_back(&group);
  return instance;
}

}  // namespace kdl::sema
