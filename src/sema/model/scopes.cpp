#include "sema/model/scopes.h"

#include <algorithm>

namespace kdl::sema {

const Entity* Scopes::Find(Name name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto found = scope->find(name);
    if (found != scope->end()) return Used(found->second);
  }
  auto found = items_->find(name);
  return found == items_->end() ? nullptr : Used(found->second);
}

const Entity* Scopes::Used(const Entity* entity) const {
  uses_->Add(*entity);
  return entity;
}

std::vector<std::string_view> Scopes::AllNames() const {
  std::vector<std::string_view> names;
  for (const auto& [name, entity] : *items_) names.push_back(name.text());
  for (const Scope& scope : scopes_) {
    for (const auto& [name, entity] : scope) names.push_back(name.text());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<const Entity*> Scopes::All() const {
  std::vector<const Entity*> entities;
  for (const Scope& scope : scopes_) {
    for (const auto& [name, entity] : scope) entities.push_back(entity);
  }
  return entities;
}

}  // namespace kdl::sema
