#include "sema/functions/type_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "sema/walk/imports.h"
#include "sema/walk/resolve.h"
#include "support/near_names.h"

namespace kdl::sema {

namespace {

using syntax::TypeName;

void ReportUnknownType(FunctionState& state, const Scope& items, const TypeName& name,
                       TypeListPlace place) {
  std::string text = ToString(name);
  Diagnostic& report = place == TypeListPlace::Item
                           ? state.diagnostics.Report(diag::UnknownType, name.span, text)
                           : state.diagnostics.Report(diag::UnknownKind, name.span, text);
  std::vector<std::string_view> candidates;
  for (const ScalarInfo& info : kScalars) candidates.push_back(info.spelling);
  for (const auto& [known, entity] : items)
    if (entity->kind == EntityKind::TypeList) candidates.push_back(known.text());
  std::ranges::sort(candidates);
  std::string_view nearest = NearestName(name.name.text(), candidates);
  if (!nearest.empty()) {
    report.Help(fmt::format("did you mean '{}'?", nearest));
  } else if (place == TypeListPlace::Parameter) {
    report.Help("declare it as `int`, or as one of several types: `T: f16 | f32`");
  } else {
    report.Help("list types such as f32, or the names of other lists");
  }
}

/// Returns what the name refers to if it is not a scalar type. If the name is unknown, returns null; if that
/// is an error, it has been reported, and `failed` is set.
const Entity* ListEntity(FunctionState& state, const TypeName& name, bool& failed) {
  const Entity* entity = state.scopes.Find(name.name);
  if (entity == nullptr || !name.member) return entity;
  if (entity->kind != EntityKind::Import) return entity;
  entity = ResolveMember(state, *entity, name.member);
  failed = entity == nullptr;
  return entity;
}

/// Returns the types that one name of a list adds. After an error, returns nothing.
std::optional<std::vector<Scalar>> TypesFor(FunctionState& state, const Scope& items,
                                            const TypeName& name, TypeListPlace place) {
  bool failed = false;
  const Entity* entity = ListEntity(state, name, failed);
  if (failed) return std::nullopt;
  if (entity != nullptr && entity->kind == EntityKind::TypeList) {
    const std::vector<Scalar>& types = TypesOf(state.module, *entity);
    return types.empty() ? std::nullopt : std::optional(types);
  }
  if (entity != nullptr) {
    state.diagnostics.Report(diag::NotAType, name.span, ToString(name), Describe(entity->kind));
    return std::nullopt;
  }
  std::optional<Scalar> scalar = ScalarFromSpelling(name.name.text());
  if (scalar && !name.member) return std::vector{*scalar};
  ReportUnknownType(state, items, name, place);
  return std::nullopt;
}

}  // namespace

std::vector<Scalar> ListedTypes(ModuleState& module, const FileState& file,
                                const std::vector<TypeName>& names, TypeListPlace place) {
  FunctionGroup group;
  CheckedFunction scratch;
  FunctionState state(module, group, scratch, module.diagnostics, file.items);
  std::vector<Scalar> listed;
  bool ok = true;
  for (const TypeName& name : names) {
    std::optional<std::vector<Scalar>> types = TypesFor(state, file.items, name, place);
    ok = ok && types.has_value();
    if (!types) continue;
    for (Scalar type : *types) {
      if (std::ranges::find(listed, type) == listed.end()) {
        listed.push_back(type);
        continue;
      }
      Diagnostic& report = module.diagnostics.Report(diag::KindTwice, name.span, Spelling(type));
      if (types->size() > 1)
        report.Help(fmt::format("'{}' contains {}", ToString(name), TypesText(*types)));
      ok = false;
      break;
    }
  }
  return ok ? listed : std::vector<Scalar>();
}

const std::vector<Scalar>& TypesOf(ModuleState& module, const Entity& list) {
  TypeListSource& source = module.type_lists.at(&list);
  if (source.is_evaluated) return source.types;
  if (source.is_seen) {
    module.diagnostics.Report(diag::TypesCycle, source.item->name.span, list.name.text())
        .Help("list the types themselves: types Float = f16 | f32;");
    return source.types;
  }
  source.is_seen = true;
  std::vector<Scalar> types =
      ListedTypes(module, *source.file, source.item->types, TypeListPlace::Item);
  source.types = std::move(types);
  source.is_evaluated = true;
  return source.types;
}

std::string TypesText(const std::vector<Scalar>& types) {
  std::string text;
  for (size_t i = 0; i < types.size(); ++i) {
    std::string_view joint = i == 0 ? "" : i + 1 == types.size() ? " or " : ", ";
    text += fmt::format("{}{}", joint, Spelling(types[i]));
  }
  return text;
}

bool IsTypeWord(std::string_view word) {
  return word == "int" || ScalarFromSpelling(word).has_value();
}

}  // namespace kdl::sema
