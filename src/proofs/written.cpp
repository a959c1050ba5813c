#include <algorithm>
#include <functional>

#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "proofs/examples.h"
#include "proofs/must_writes.h"
#include "proofs/plain_accesses.h"
#include "proofs/proofs.h"

// Tries three methods in turn: the first handles simple stores without sets, the second computes the set of
// elements that are surely written, and the third assumes that parts whose bounds come from tables cover a
// dimension, which the launch then checks.

namespace kdl::proofs {

using ir::Effect;

struct Written::Asked {
  Asked(const ir::Function& kernel, ir::TypeTable& types, const Limits& limits)
      : kernel(kernel),
        types(types),
        sets(limits.steps),
        instances(sets, kernel, types),
        writes(instances),
        plain_writes(instances, CountedWrites::Plain),
        examples(kernel, types, limits) {}

  PointSet AtEnd(Instances& of) const;
  bool IsWhole(MustWrites& by, Instances& of, const Value* tensor) const;
  bool IsWholeByTables(const Value* tensor);
  void AssumeWhole(Instances& assuming, Size dim, const std::vector<size_t>& parts) const;
  bool HoldsByTables(const Value* memory, const std::function<bool(Instances&)>& holds);
  bool IsBefore(const AccessView& view, const PointSet& before, MustWrites& by,
                Instances& of) const;
  PointSet Before(const Op* op, const Value* memory);

  const ir::Function& kernel;
  ir::TypeTable& types;
  SetContext sets;
  Instances instances;
  MustWrites writes;
  MustWrites plain_writes;
  Examples examples;
  /// Pairs of an index into the result of `RaggedOf` and the size that the parts cover.
  std::set<std::pair<size_t, Size>> checked;
};

Written::Written(const ir::Function& kernel, ir::TypeTable& types, const Limits& limits)
    : asked_(std::make_unique<Asked>(kernel, types, limits)) {}
Written::~Written() = default;

bool Written::IsWhole(const Value* tensor) {
  return IsWrittenPlainly(tensor, asked_->instances.terms()) ||
         asked_->IsWhole(asked_->writes, asked_->instances, tensor) ||
         asked_->IsWholeByTables(tensor);
}

bool Written::IsBefore(const AccessView& view) {
  if (asked_->IsBefore(view, asked_->Before(view.op, ir::MemoryOf(view.tensor)), asked_->writes,
                       asked_->instances))
    return true;
  // An update of another block need not come first, see Before.
  return view.op->kind() != OpKind::Update &&
         asked_->HoldsByTables(ir::MemoryOf(view.tensor), [&](Instances& assuming) {
           MustWrites by(assuming);
           PointSet before = by.Before(view.op, ir::MemoryOf(view.tensor));
           return asked_->IsBefore(view, before, by, assuming);
         });
}

/// Returns whether everything that the access reads is in `before`.
bool Written::Asked::IsBefore(const AccessView& view, const PointSet& before, MustWrites& by,
                              Instances& of) const {
  sets.Allow(kStepsOfQuestion);
  PointSet read = of.Launch() & of.Around(view.op) &
                  by.elements().AllElements(ir::MemoryOf(view.tensor)) &
                  by.elements().TouchedBy(view).elements;
  return of.WithFacts(of.WithFacts(read) - before).IsSurelyEmpty();
}

std::optional<ElementExample> Written::Hole(const Value* tensor) {
  return asked_->examples.LeastElement(tensor, [&](Races& races, Instances& instances) {
    if (!races.elements().IsExact(tensor)) return instances.None();
    PointSet left = asked_->AtEnd(instances) & races.elements().AllElements(tensor);
    for (const Site& site : races.sites()) {
      bool writes = ir::MemoryOf(site.view.tensor) == tensor && site.view.effect != Effect::Read;
      if (writes) left = left - races.TouchedElements(site);
    }
    return left;
  });
}

std::optional<ElementExample> Written::TooSoon(const Op* op, const Value* memory) {
  return asked_->examples.LeastElement(memory, [&](Races& races, Instances& instances) {
    PointSet left = instances.None();
    for (const Site& site : races.sites()) {
      if (site.view.op == op && site.is_certain) left = site.touched - races.MaybeBefore(site);
    }
    return left;
  });
}

std::vector<std::pair<Parts, Size>> Written::parts() const {
  std::vector<Ragged> all = RaggedOf(asked_->kernel, asked_->instances.terms());
  std::vector<std::pair<Parts, Size>> parts;
  for (const auto& [part, dim] : asked_->checked) parts.emplace_back(all[part], dim);
  return parts;
}

/// Returns the launches in which no assert in the kernel's body fails.
PointSet Written::Asked::AtEnd(Instances& of) const {
  return of.Launch() & of.Around(kernel.body->terminator());
}

bool Written::Asked::IsWhole(MustWrites& by, Instances& of, const Value* tensor) const {
  if (!by.elements().IsExact(tensor)) return false;
  PointSet written = by.WrittenByLaunch(tensor);
  sets.Allow(kStepsOfQuestion);
  PointSet all = of.WithFacts(AtEnd(of) & by.elements().AllElements(tensor));
  return of.WithFacts(all - written).IsSurelyEmpty();
}

/// Returns whether the tensor is whole, that is, completely written, if parts whose bounds come from tables cover one of its
/// dimensions.
bool Written::Asked::IsWholeByTables(const Value* tensor) {
  return HoldsByTables(tensor, [&](Instances& assuming) {
    MustWrites by(assuming);
    return IsWhole(by, assuming, tensor);
  });
}

/// Returns whether something holds for a memory if parts whose bounds come from tables cover one of its dimensions. If so, the
/// launch has to check that they do.
bool Written::Asked::HoldsByTables(const Value* memory,
                                   const std::function<bool(Instances&)>& holds) {
  std::vector<Ragged> all = RaggedOf(kernel, instances.terms());
  std::vector<size_t> around = PartsAround(all, memory);
  std::erase_if(around, [&](size_t part) { return all[part].number_of_block != nullptr; });
  for (Size dim : memory->type()->dims) {
    auto needed = FewestOf(around, [&](const std::vector<size_t>& parts) {
      Instances assuming(sets, kernel, types);
      AssumeWhole(assuming, dim, parts);
      return holds(assuming);
    });
    if (!needed) continue;
    for (size_t part : *needed) checked.emplace(part, dim);
    return true;
  }
  return false;
}

/// Assumes that these parts cover a dimension of this size.
void Written::Asked::AssumeWhole(Instances& assuming, Size dim,
                                 const std::vector<size_t>& parts) const {
  std::vector<Ragged> all = RaggedOf(kernel, assuming.terms());
  std::vector<Ragged> assumed;
  for (size_t part : parts) {
    assumed.push_back(all[part]);
    assumed.back().whole = dim;
  }
  assuming.Assume(std::move(assumed));
}

/// Returns what has been written before the op. Updates of one element may happen in any order, so an update
/// by another block need not come first.
PointSet Written::Asked::Before(const Op* op, const Value* memory) {
  if (op->kind() != OpKind::Update) return writes.Before(op, memory);
  return plain_writes.Before(op, memory) | writes.BeforeInOrder(op, memory);
}

}  // namespace kdl::proofs
