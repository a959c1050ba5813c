#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "sema/model/entity.h"
#include "sema/model/name_uses.h"
#include "support/names.h"

namespace kdl::sema {

using Scope = std::unordered_map<Name, const Entity*>;

/// The names that are visible at a point of the program, innermost scope last.
class Scopes {
 public:
  Scopes(const Scope* items, NameUses* uses) : items_(items), uses_(uses), scopes_(1) {}

  /// Returns the entity with the name, or null. An entity that is found counts as used.
  const Entity* Find(Name name) const;
  /// Adds an entity to the innermost scope. If that scope already has the name, the first entity is kept.
  void Add(const Entity* entity) { scopes_.back().emplace(entity->name, entity); }
  /// Adds an entity to the scope that is nested inside `depth` other scopes.
  void AddAt(size_t depth, const Entity* entity) { scopes_[depth][entity->name] = entity; }
  void Enter() { scopes_.emplace_back(); }
  void Leave() { scopes_.pop_back(); }
  size_t depth() const { return scopes_.size(); }
  std::vector<std::string_view> AllNames() const;
  /// Returns the entities of all scopes, in no particular order. Items are not included.
  std::vector<const Entity*> All() const;

 private:
  const Entity* Used(const Entity* entity) const;

  const Scope* items_;
  NameUses* uses_;
  std::vector<Scope> scopes_;
};

/// Opens a scope and closes it when the guard is destroyed.
class ScopeGuard {
 public:
  explicit ScopeGuard(Scopes& scopes) : scopes_(scopes) { scopes_.Enter(); }
  ~ScopeGuard() { scopes_.Leave(); }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  Scopes& scopes_;
};

}  // namespace kdl::sema
