#include "proofs/scopes.h"

#include <algorithm>

#include "ir/op_info.h"
#include "ir/views.h"

namespace kdl::proofs {

namespace {

int DepthOf(const Op* op) {
  int depth = 0;
  for (; op; op = op->parent_region()->parent()) ++depth;
  return depth;
}

}  // namespace

Scope Join(Scope a, const Scope& b) {
  if (DepthOf(b.loop) > DepthOf(a.loop)) a.loop = b.loop;
  a.points = a.points || b.points;
  a.cores = a.cores || b.cores;
  return a;
}

Scope Scopes::ScopeOf(const Value* value) {
  auto known = known_.find(value);
  if (known != known_.end()) return known->second;
  if (value->def()) return known_[value] = ScopeOfResult(value);
  const Op* loop = value->parent_region()->parent();
  if (!loop) return known_[value] = {};
  if (LoopEndsOf(value)) return known_[value] = {LoopOf(loop), false, false};
  // A carried value is the same on all cores if its inputs are.
  Scope scope{LoopOf(loop), !value->type()->axes.empty(), differ_.contains(value)};
  known_[value] = scope;
  if (!scope.cores && DiffersByCore(loop)) {
    differ_.insert(value);
    known_.clear();  // the cached results assumed that the value was the same on all cores
    scope.cores = true;
  }
  return known_[value] = scope;
}

/// Returns whether an operand of an op with regions, or a value that one of the regions yields, may differ
/// between cores.
bool Scopes::DiffersByCore(const Op* op) {
  auto differs = [&](const Value* value) { return ScopeOf(value).cores; };
  if (std::ranges::any_of(op->operands(), differs)) return true;
  return std::ranges::any_of(op->regions(), [&](const ir::Region* region) {
    return region->terminator() && std::ranges::any_of(region->terminator()->operands(), differs);
  });
}

Scope Scopes::ScopeOfResult(const Value* value) {
  const Op* def = value->def();
  Scope scope;
  bool is_known = def->regions().empty() &&
                  (def->info().has(ir::kPure) || def->info().has(ir::kElementwise) ||
                   def->kind() == OpKind::MakeBlock || def->kind() == OpKind::Gather ||
                   (def->kind() == OpKind::Load && IsInput(def->operand(0))));
  if (is_known) {
    for (const Value* operand : def->operands()) {
      if (operand->type()->kind != ir::TypeKind::Tensor) scope = Join(scope, ScopeOf(operand));
    }
  } else {
    scope.loop = LoopOf(def->parent_region()->parent());
    scope.cores = def->regions().empty() || DiffersByCore(def);
  }
  if (def->kind() == OpKind::CoreId) scope.cores = true;
  scope.points = ir::IsTile(value->type()) && !value->type()->axes.empty();
  for (ir::AxisId axis : scope.points ? value->type()->axes : ir::AxisList{}) {
    if (const Value* block = ir::FindBlock(def, axis)) scope = Join(scope, ScopeOf(block));
  }
  return scope;
}

Scope Scopes::ScopeOf(const Poly& poly) {
  Scope scope;
  for (const auto& [monomial, coefficient] : poly.terms()) {
    for (AtomId atom : monomial) scope = Join(scope, ScopeOf(atom));
  }
  return scope;
}

Scope Scopes::ScopeOf(AtomId atom) {
  auto known = atoms_.find(atom);
  if (known != atoms_.end()) return known->second;
  Scope scope = ScopeOfFacts(terms_.Facts(atom));
  return atoms_[atom] = scope;
}

Scope Scopes::ScopeOfFacts(const AtomFacts& facts) {
  switch (facts.kind) {
    case AtomKind::Size:
    case AtomKind::CoreNum:
      return {};
    case AtomKind::CoreId:
      return {nullptr, false, true};
    case AtomKind::Quotient:
    case AtomKind::Min:
    case AtomKind::Max:
    case AtomKind::Wrapped:
      return Join(ScopeOf(facts.a), ScopeOf(facts.b));
    case AtomKind::Choice:
      return Join(ScopeOf(facts.value), Join(ScopeOf(facts.a), ScopeOf(facts.b)));
    case AtomKind::Element: {
      Scope scope = ScopeOf(facts.value);
      scope.points = true;
      return scope;
    }
    default:
      return ScopeOf(facts.value);
  }
}

}  // namespace kdl::proofs
