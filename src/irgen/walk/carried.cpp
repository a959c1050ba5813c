#include "irgen/walk/carried.h"

#include <algorithm>

#include "ir/op_kind.h"
#include "sema/model/ast_walk.h"
#include "sema/model/element_name.h"

namespace kdl::irgen {

namespace {

using ir::OpKind;
using ir::Value;

/// Collects the vars that `stmt` assigns. `in_loop` tells whether `stmt` is in a loop that has already been
/// visited. If so, a jump in `stmt` leaves that loop.
void FindAssigned(const FunctionGen& gen, const syntax::Stmt* stmt, bool in_loop, Vars& found) {
  if (stmt->kind == syntax::StmtKind::Break && !in_loop) {
    found.push_back(gen.loops.back().stays);
    if (gen.loops.back().live) found.push_back(gen.loops.back().live);
  } else if (stmt->kind == syntax::StmtKind::Continue && !in_loop) {
    found.push_back(gen.loops.back().live);
  } else if (const auto* assign = syntax::DynAs<syntax::AssignStmt>(stmt)) {
    bool part = gen.Info(assign->target).part != nullptr;
    if (part || assign->target->kind == syntax::ExprKind::Name)
      found.push_back(gen.Info(assign->target).entity);
  }
  bool inner_loop = in_loop || sema::IsLoop(stmt);
  sema::ForEachInside(
      stmt, [&](const syntax::Stmt* inner) { FindAssigned(gen, inner, inner_loop, found); });
}

/// Returns a name for each current value of the vars, in the order in which Present returns the values.
std::vector<Name> NamesOf(const FunctionGen& gen, const Vars& vars) {
  std::vector<Name> names;
  for (const sema::Entity* var : vars) {
    if (!var->type.is_tuple()) {
      names.push_back(var->name);
      continue;
    }
    for (size_t i = 0; i < gen.tuples.at(var).size(); ++i)
      names.push_back(sema::ElementName(var->name, i, gen.module.context().names));
  }
  return names;
}

}  // namespace

Vars AssignedOutside(const FunctionGen& gen, std::span<const syntax::Stmt* const> stmts) {
  Vars found;
  for (const syntax::Stmt* stmt : stmts) {
    if (stmt != nullptr) FindAssigned(gen, stmt, false, found);
  }
  std::erase_if(found, [&](const sema::Entity* var) {
    return !gen.values.contains(var) && !gen.tuples.contains(var);
  });
  std::sort(found.begin(), found.end(), [](auto* a, auto* b) { return a->number < b->number; });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<Value*> Present(const FunctionGen& gen, const Vars& vars) {
  std::vector<Value*> values;
  for (const sema::Entity* var : vars) {
    if (var->type.is_tuple()) {
      const std::vector<Value*>& parts = gen.tuples.at(var);
      values.insert(values.end(), parts.begin(), parts.end());
    } else {
      values.push_back(gen.values.at(var));
    }
  }
  return values;
}

void SetPresent(FunctionGen& gen, const Vars& vars, std::span<Value* const> values) {
  for (const sema::Entity* var : vars) {
    size_t count = 1;
    if (var->type.is_tuple()) {
      std::vector<Value*>& parts = gen.tuples.at(var);
      count = parts.size();
      std::copy_n(values.begin(), count, parts.begin());
    } else {
      gen.values[var] = values[0];
    }
    values = values.subspan(count);
  }
}

std::vector<ir::Type> ValueTypes(const std::vector<Value*>& values) {
  std::vector<ir::Type> types;
  for (Value* value : values) types.push_back(value->type());
  return types;
}

void Yield(FunctionGen& gen, const Vars& vars) {
  gen.builder.Create(OpKind::Yield, {Present(gen, vars)}, {});
}

void TakeResults(FunctionGen& gen, const Vars& vars, ir::Op* op, size_t first) {
  std::vector<Name> names = NamesOf(gen, vars);
  for (size_t i = 0; i < names.size(); ++i) op->result(first + i)->set_name(names[i]);
  SetPresent(gen, vars, std::span<Value* const>(op->results()).subspan(first));
}

void CarryInto(FunctionGen& gen, ir::Region* region, const Vars& vars,
               const std::vector<Value*>& inits) {
  std::vector<Name> names = NamesOf(gen, vars);
  std::vector<Value*> params;
  for (size_t i = 0; i < inits.size(); ++i)
    params.push_back(gen.builder.AddParam(region, inits[i]->type(), names[i]));
  SetPresent(gen, vars, params);
}

Vars CarriedBy(FunctionGen& gen, const syntax::BlockStmt& body) {
  Vars vars = AssignedOutside(gen, body.stmts);
  const sema::Entity* stays = gen.loops.back().stays;
  std::erase_if(
      vars, [&](const sema::Entity* var) { return var == stays || var == gen.loops.back().live; });
  if (stays) vars.insert(vars.begin(), stays);
  return vars;
}

}  // namespace kdl::irgen
