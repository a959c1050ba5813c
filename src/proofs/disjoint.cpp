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

/// Two accesses that may race.
struct Clash {
  AccessView a;
  AccessView b;
  bool of_blocks;
};

Clash ClashOf(const Race& race) {
  return {race.a->view, race.b->view, race.a->walk != nullptr || race.b->walk != nullptr};
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

  std::optional<Clash> ClashDespiteTables(const Race& race);

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
    std::optional<Clash> clash = asked_->ClashDespiteTables(race);
    if (!clash) continue;
    bool a_writes = clash->b.effect == Effect::Read;
    const AccessView& writes = a_writes ? clash->a : clash->b;
    const AccessView& other = a_writes ? clash->b : clash->a;
    meetings.push_back(
        {writes, other, clash->of_blocks, asked_->examples.RaceOn(ir::MemoryOf(writes.tensor))});
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
  for (size_t part : asked_->checked) {
    bool is_checked = std::ranges::any_of(
        parts, [&](const Parts& other) { return AreEqualParts(other, all[part]); });
    if (!is_checked) parts.push_back(all[part]);
  }
  return parts;
}

/// Returns nothing if different blocks access different elements of the memory of a race, provided that the parts that tables
/// assign to them are disjoint. Then the launch has to check these tables. Otherwise, returns accesses that may race even so.
std::optional<Clash> Disjoint::Asked::ClashDespiteTables(const Race& race) {
  const Value* memory = ir::MemoryOf(race.a->view.tensor);
  std::vector<size_t> around = PartsAround(RaggedOf(kernel, instances.terms()), memory);
  std::optional<Clash> clash = ClashOf(race);
  if (around.empty()) return clash;
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
    Races left(assuming, others);
    std::vector<Race> found = left.Find();
    if (!found.empty() && parts.size() == around.size()) clash = ClashOf(found[0]);
    return found.empty();
  });
  if (!needed) return clash;
  std::vector<Ragged> all = RaggedOf(kernel, instances.terms());
  for (size_t part : *needed) {
    checked.insert(part);
    if (std::optional<size_t> numbers = PartsOfNumbers(all, all[part])) checked.insert(*numbers);
  }
  return std::nullopt;
}

}  // namespace kdl::proofs
