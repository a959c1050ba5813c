#include <algorithm>

#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "proofs/examples.h"
#include "proofs/plain_accesses.h"
#include "proofs/proofs.h"

// Tries three methods in turn: the first handles simple accesses without sets, the second looks for races by
// computing sets of elements, and the third assumes facts about the contents of tables, which the launch then
// checks.

namespace kdl::proofs {

namespace {

using ir::Effect;

/// Returns the memories for which it is obvious that no two blocks, and no two points of one store, access
/// the same element.
std::set<const Value*> SafeIn(const ir::Function& kernel) {
  std::set<const Value*> safe;
  std::vector<AccessView> views = AccessesIn(kernel.body);
  for (const AccessView& view : views) safe.insert(ir::MemoryOf(view.tensor));
  std::erase_if(safe, [](const Value* memory) { return !IsDistributedPlainly(memory); });
  for (const AccessView& view : views) {
    const Value* memory = ir::MemoryOf(view.tensor);
    if (view.effect == Effect::Write && safe.contains(memory) && !IsOncePlainly(view))
      safe.erase(memory);
  }
  return safe;
}

}  // namespace

struct Disjoint::Asked {
  Asked(const ir::Function& kernel, ir::TypeTable& types, const Limits& limits)
      : kernel(kernel),
        types(types),
        sets(limits.steps),
        instances(sets, kernel, types),
        races(instances, SafeIn(kernel)),
        examples(kernel, types, limits) {}

  bool AreApartByTables(const Value* memory);

  const ir::Function& kernel;
  ir::TypeTable& types;
  SetContext sets;
  Instances instances;
  Races races;
  Examples examples;
  std::set<size_t> checked;  ///< indices into the result of `RaggedOf`
};

Disjoint::Disjoint(const ir::Function& kernel, ir::TypeTable& types, const Limits& limits)
    : asked_(std::make_unique<Asked>(kernel, types, limits)) {}
Disjoint::~Disjoint() = default;

std::vector<Meeting> Disjoint::Meetings() {
  std::vector<Meeting> meetings;
  for (const Race& race : asked_->races.Find()) {
    if (asked_->AreApartByTables(ir::MemoryOf(race.a->view.tensor))) continue;
    bool a_writes = race.b->view.effect == Effect::Read;
    const AccessView& writes = (a_writes ? race.a : race.b)->view;
    const AccessView& other = (a_writes ? race.b : race.a)->view;
    bool of_blocks = race.a->walk != nullptr || race.b->walk != nullptr;
    meetings.push_back(
        {writes, other, of_blocks, asked_->examples.RaceOn(ir::MemoryOf(writes.tensor))});
  }
  return meetings;
}

std::vector<TwiceStored> Disjoint::StoredTwice(const std::set<const Value*>& but) {
  std::vector<TwiceStored> stored;
  for (const Site& site : asked_->races.sites()) {
    const AccessView& view = site.view;
    if (view.effect != Effect::Write || view.is_append() || view.axes().empty()) continue;
    if (but.contains(ir::MemoryOf(view.tensor))) continue;
    if (asked_->races.Twice(site).IsSurelyEmpty()) continue;
    stored.push_back({view.op, asked_->examples.TwiceBy(view.op)});
  }
  return stored;
}

std::vector<Parts> Disjoint::parts() const {
  std::vector<Ragged> all = RaggedOf(asked_->kernel, asked_->instances.terms());
  std::vector<Parts> parts;
  for (size_t part : asked_->checked) parts.push_back(all[part]);
  return parts;
}

/// Returns whether different blocks access different elements, provided that the parts that tables assign to
/// them are disjoint. If so, the launch has to check these tables.
bool Disjoint::Asked::AreApartByTables(const Value* memory) {
  std::vector<size_t> around = PartsAround(RaggedOf(kernel, instances.terms()), memory);
  if (around.empty()) return false;
  std::set<const Value*> others;
  for (const AccessView& view : AccessesIn(kernel.body)) {
    if (ir::MemoryOf(view.tensor) != memory) others.insert(ir::MemoryOf(view.tensor));
  }
  auto needed = FewestOf(around, [&](const std::vector<size_t>& parts) {
    Instances assuming(sets, kernel, types);
    std::vector<Ragged> all = RaggedOf(kernel, assuming.terms());
    std::vector<Ragged> assumed;
    for (size_t part : parts) assumed.push_back(all[part]);
    assuming.Assume(std::move(assumed));
    return Races(assuming, others).Find().empty();
  });
  if (needed) checked.insert(needed->begin(), needed->end());
  return needed.has_value();
}

}  // namespace kdl::proofs
