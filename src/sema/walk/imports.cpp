#include "sema/walk/imports.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "sema/walk/resolve.h"
#include "support/near_names.h"

namespace kdl::sema {

namespace {

bool IsExported(const FunctionState& state, const Entity& entity) {
  if (entity.function != nullptr) return entity.function->exported;
  auto types = state.module.type_lists.find(&entity);
  if (types != state.module.type_lists.end()) return types->second.item->exported;
  auto constant = state.module.const_items.find(&entity);
  return constant != state.module.const_items.end() && constant->second.item->exported;
}

}  // namespace

const Entity* ImportOf(const FunctionState& state, const syntax::Expr* expr) {
  const auto* name = expr != nullptr ? syntax::DynAs<syntax::NameExpr>(expr) : nullptr;
  const Entity* entity = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  return entity != nullptr && entity->kind == EntityKind::Import ? entity : nullptr;
}

const Entity* ResolveMember(FunctionState& state, const Entity& import,
                            const syntax::Ident& member) {
  const Scope& items = import.file->items;
  auto found = items.find(member.name);
  if (found == items.end()) {
    Diagnostic& report = state.diagnostics.Report(diag::NoSuchMember, member.span,
                                                  import.name.text(), member.name.text());
    std::vector<std::string_view> names;
    for (const auto& [name, entity] : items) {
      if (IsExported(state, *entity)) names.push_back(name.text());
    }
    std::string_view nearest = NearestName(member.name.text(), names);
    if (!nearest.empty()) report.Help(fmt::format("did you mean '{}'?", nearest));
    return nullptr;
  }
  if (IsExported(state, *found->second)) return found->second;
  state.diagnostics.Report(diag::NotExported, member.span, import.name.text(), member.name.text())
      .Note(found->second->span, "declared here")
      .Help("write `export` before its declaration");
  return nullptr;
}

std::string CalleeText(const FunctionState& state, const syntax::CallExpr& call) {
  const Entity* import = ImportOf(state, call.receiver);
  std::string_view name = call.callee.name.text();
  return import == nullptr ? std::string(name) : fmt::format("{}.{}", import->name.text(), name);
}

const Entity* ResolveCallee(FunctionState& state, const syntax::CallExpr& call) {
  if (const Entity* import = ImportOf(state, call.receiver)) {
    return ResolveMember(state, *import, call.callee);
  }
  return Resolve(state, call.callee.name, call.callee.span);
}

}  // namespace kdl::sema
