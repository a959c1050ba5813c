#include "proofs/barriers.h"

#include <algorithm>

#include "ir/lookup.h"
#include "ir/op_info.h"

namespace kdl::proofs {

namespace {

bool Waits(const Op* op) { return op->info().has(ir::kSyncs) || op->kind() == OpKind::Stage; }
bool Walks(const Op* op) { return op->kind() == OpKind::Spmd; }

/// Returns whether `holds` is true for the op or an op nested in it; `known` caches the results.
bool Has(const Op* op, bool (*holds)(const Op*), std::map<const Op*, bool>& known) {
  if (op->regions().empty()) return holds(op);
  auto [found, is_new] = known.try_emplace(op, false);
  if (is_new) found->second = AnyIn(op, holds);
  return found->second;
}

}  // namespace

bool Barriers::HasBarrier(const Op* op) { return Has(op, Waits, has_barrier_); }
bool Barriers::HasWalk(const Op* op) { return Has(op, Walks, has_walk_); }

std::vector<const Op*> Barriers::LoopsAround(const Op* op) {
  std::vector<const Op*> loops;
  for (op = PlaceBetweenBarriers(op)->parent_region()->parent(); op;
       op = op->parent_region()->parent()) {
    if (IsLoop(op)) loops.push_back(op);
  }
  std::reverse(loops.begin(), loops.end());
  return loops;
}

const Op* Barriers::PlaceBetweenBarriers(const Op* op) {
  const Op* place = op;
  for (const Op* outer = op; outer; outer = outer->parent_region()->parent()) {
    if (outer->kind() == OpKind::Spmd) return outer;
    if (!HasBarrier(outer) && !HasWalk(outer)) place = outer;
  }
  return place;
}

Barriers::Free& Barriers::Free::operator&=(const Free& other) {
  when &= other.when;
  is_certain = is_certain && other.is_certain;
  never = never || other.never || when.IsSurelyEmpty();
  return *this;
}

Barriers::Free Barriers::Without(Free free, const std::vector<std::string>& variables) const {
  if (variables.empty()) return free;
  PointSet when = free.when.WithSome(variables);
  return {when, false, free.never || when.IsSurelyEmpty()};
}

/// Keeps only the part of a condition that is the same on all cores.
Barriers::Free Barriers::SameOnAllCores(PointSet when) const {
  auto others = when.Variables([&](const std::string& variable) {
    const Scope& scope = instances_.ScopeOf(variable);
    return scope.cores || scope.points;
  });
  bool is_certain = !instances_.IsOpaque(when);
  bool never = when.IsSurelyEmpty();
  return Without({std::move(when), is_certain, never}, others);
}

/// Returns the condition under which another iteration may follow: no `break` has ended the loop, and the condition of a
/// `while` is true again.
Barriers::Free Barriers::Continues(const Op* loop) {
  bool ends_by_value = loop->kind() == OpKind::While || loop->HasAttr(AttrKey::Breaks);
  if (!ends_by_value) return All();
  return SameOnAllCores(instances_.Where(loop->region()->terminator()->operand(0), true));
}

bool Barriers::AlwaysWaits(const Op* loop) {
  Free through = Through(loop->region());
  through &= Continues(loop);
  return through.never;
}

/// Removes from a condition everything about the iterations of a loop and of the loops nested in it.
Barriers::Free Barriers::Outside(Free free, const Op* loop) const {
  auto inner = free.when.Variables([&](const std::string& variable) {
    const Scope& scope = instances_.ScopeOf(variable);
    return scope.loop && instances_.LoopIsIn(scope.loop, loop);
  });
  return Without(std::move(free), inner);
}

Barriers::Free Barriers::Through(const Op* op) {
  if (!HasBarrier(op)) return All();
  if (Waits(op)) return None();
  auto known = through_.find(op);
  if (known != through_.end()) return known->second;
  Free through = None();
  auto add = [&](const Free& way) {
    if (way.never || way.when.IsSurelyEmpty()) return;
    through.never = false;
    through.when |= way.when;
    through.is_certain = through.is_certain && way.is_certain;
  };
  if (op->kind() == OpKind::If) {
    for (bool holds : {true, false}) {
      Free branch = Through(op->region(holds ? 0 : 1));
      branch &= SameOnAllCores(instances_.Where(op->operand(0), holds));
      add(branch);
    }
  } else {
    add(Outside(Through(op->region()), op));
    auto bounds =
        op->region()->params().empty() ? std::nullopt : LoopEndsOf(op->region()->param(0));
    PointSet none =
        bounds ? AtMost(instances_.AffineOfValue(bounds->hi), instances_.AffineOfValue(bounds->lo))
               : instances_.All();
    none = instances_.WithFacts(instances_.Launch() & instances_.Around(op) & none);
    Free without = SameOnAllCores(none);
    without.is_certain = without.is_certain && bounds;
    add(without);
  }
  bool is_final = through.when.known() || !instances_.context().IsExhausted();
  return is_final ? through_[op] = through : through;
}

Barriers::Free Barriers::Through(const ir::Region* region) {
  Free through = All();
  AddBetween(region->first(), nullptr, through);
  return through;
}

/// `free` is the condition for a path without a barrier. Restricts it to paths that also meet no barrier from
/// `op` (inclusive) to `end` (exclusive), which are in the same region. Returns false if there is always a
/// barrier.
bool Barriers::AddBetween(const Op* op, const Op* end, Free& free) {
  for (; op != end && !free.never; op = op->next()) {
    if (HasBarrier(op)) free &= Through(op);
  }
  return !free.never;
}

/// Returns the condition under which there is no barrier from just after `op` to the end of `end`, which is
/// an enclosing region.
Barriers::Free Barriers::After(const Op* op, const ir::Region* end) {
  Free free = All();
  for (;; op = op->parent_region()->parent()) {
    if (op->kind() == OpKind::Stage || !AddBetween(op->next(), nullptr, free)) return None();
    if (op->parent_region() == end) return free;
  }
}

Barriers::Free Barriers::InFrontOf(const Op* op, const ir::Region* end) {
  Free free = All();
  for (;; op = op->parent_region()->parent()) {
    if (op->kind() == OpKind::Stage || !AddBetween(op->parent_region()->first(), op, free))
      return None();
    if (op->parent_region() == end) return free;
  }
}

void Barriers::Add(Way way, const Free& after, const Free& between, const Free& before,
                   std::vector<Way>& ways) {
  if (after.never || between.never || before.never) return;
  way.after = after.when;
  way.when = between.when;
  way.before = before.when;
  way.is_certain = after.is_certain && between.is_certain && before.is_certain;
  ways.push_back(std::move(way));
}

/// Returns the loops around a place, within a region, whose iterations may wait at a barrier.
std::vector<const Op*> Barriers::WaitingLoops(const Op* place, const ir::Region* within) {
  std::vector<const Op*> loops;
  for (; place->parent_region() != within; place = place->parent_region()->parent()) {
    const Op* around = place->parent_region()->parent();
    if (IsLoop(around) && HasBarrier(around)) loops.push_back(around);
  }
  return loops;
}

/// Adds the way in which a core executes both places in the same iteration, in program order.
void Barriers::AddInOneIteration(const Op* a, const Op* b, size_t loops, std::vector<Way>& ways) {
  Way way{loops, Way::Iterations::Same, false};
  if (a == b) return Add(way, All(), All(), All(), ways);
  const ir::Region* common = a->parent_region();
  while (!AncestorIn(common, b)) common = common->parent()->parent_region();
  const Op* first = AncestorIn(common, a);
  const Op* second = AncestorIn(common, b);
  if (first == second) return;  // different branches of an if
  if (!ComesAfter(second, first)) {
    std::swap(first, second);
    std::swap(a, b);
    way.is_swapped = true;
  }
  if (first->kind() == OpKind::Stage || second->kind() == OpKind::Stage) return;
  way.left = WaitingLoops(a, common);
  way.entered = WaitingLoops(b, common);
  Free after = All();
  Free between = All();
  Free before = All();
  for (const Op* op = a; op != first; op = op->parent_region()->parent())
    after &= After(op, op->parent_region());
  for (const Op* op = b; op != second; op = op->parent_region()->parent())
    before &= InFrontOf(op, op->parent_region());
  AddBetween(first->next(), second, between);
  Add(way, after, between, before, ways);
}

std::vector<Way> Barriers::Ways(const Op* a, const Op* b) {
  std::vector<const Op*> of_a = LoopsAround(a);
  std::vector<const Op*> of_b = LoopsAround(b);
  auto differ = std::ranges::mismatch(of_a, of_b).in1;
  auto common = static_cast<size_t>(differ - of_a.begin());
  std::vector<Way> ways;
  AddInOneIteration(a, b, common, ways);
  for (size_t i = 0; i < common; ++i) {
    const ir::Region* body = of_a[i]->region();
    Way::Iterations iterations =
        AlwaysWaits(of_a[i]) ? Way::Iterations::Next : Way::Iterations::Earlier;
    Free continues = Continues(of_a[i]);
    auto add = [&](const Op* from, const Op* to, bool is_swapped) {
      Way way{i, iterations, is_swapped};
      way.left = WaitingLoops(from, body);
      way.entered = WaitingLoops(to, body);
      way.may_wait = HasBarrier(of_a[i]);
      Free after = After(from, body);
      after &= continues;
      Add(std::move(way), after, All(), InFrontOf(to, body), ways);
    };
    add(a, b, false);
    if (a != b) add(b, a, true);
  }
  return ways;
}

}  // namespace kdl::proofs
