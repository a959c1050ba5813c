#include "sema/accesses/index_names.h"

#include "sema/model/builtins.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

Entity* NewIndex(FunctionState& state, const syntax::Ident& name) {
  Entity* entity = Declare(state, EntityKind::Range, name);
  entity->type.kind = TypeKind::Range;
  return entity;
}

}  // namespace

const Entity* DeclareFree(FunctionState& state, Name name, Span span) {
  Entity* entity = NewIndex(state, {{span}, name});
  state.scopes.AddAt(state.contract->depth, entity);
  state.module.uses.Add(*entity);  // a use declares it
  state.contract->free.push_back(entity);
  return entity;
}

void DeclareOver(FunctionState& state, const syntax::Ident& name) {
  state.contract->over.push_back(NewIndex(state, name));
}

const Entity* FreeRange(FunctionState& state, const syntax::Expr* expr) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(expr);
  if (name == nullptr) return nullptr;
  const Entity* known = state.scopes.Find(name->name);
  if (known != nullptr) return known->kind == EntityKind::Range ? known : nullptr;
  if (FindBuiltin(name->name.text()) != nullptr) return nullptr;
  return DeclareFree(state, name->name, name->span);
}

}  // namespace kdl::sema
