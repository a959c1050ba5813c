#include "proofs/races.h"

#include <algorithm>

#include "ir/groups.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"

// Compares two executions of the kernel's code. The names of the second execution's variables are those of
// the first, marked with a prime ('). Variables that cannot differ between the two are shared: those of the
// launch, and those of loops outside of spmds while both executions are in the same iteration. An execution
// is represented only by its block and the elements that it accesses. All accesses between the same barriers
// are united, so that a kernel with many stores needs only one query.

namespace kdl::proofs {

namespace {

using ir::Effect;

/// The maximum number of pieces of sets that are checked together.
constexpr size_t kMostAsked = 32;

}  // namespace

Races::Races(Instances& instances, const std::set<const Value*>& safe)
    : instances_(instances), elements_(instances), barriers_(instances) {
  std::set<const Value*> written;
  for (const AccessView& view : AccessesIn(instances.kernel().body)) {
    const Value* memory = ir::MemoryOf(view.tensor);
    if (view.effect != Effect::Read && !safe.contains(memory)) written.insert(memory);
  }
  Collect(instances.kernel().body, nullptr, written);
}

void Races::Collect(const ir::Region* region, const Op* walk,
                    const std::set<const Value*>& written) {
  for (Op* op : *region) {
    std::optional<AccessView> view = FindAccess(op);
    if (view && written.contains(ir::MemoryOf(view->tensor))) {
      instances_.context().Allow(kStepsOfQuestion);
      PointSet runs =
          instances_.Launch() & instances_.Around(op) & elements_.AllElements(view->tensor);
      Elements::Touched touched = elements_.TouchedBy(*view);
      runs = instances_.WithFacts(runs & touched.elements);
      sites_.push_back({*view, walk, runs, touched.is_exact && IsCertain(*view, runs)});
    }
    for (const ir::Region* nested : op->regions())
      Collect(nested, op->kind() == OpKind::Spmd ? op : walk, written);
  }
}

bool Races::IsCertain(const AccessView& view, const PointSet& touched) const {
  for (const Op* op = view.op->parent_region()->parent(); op; op = op->parent_region()->parent()) {
    bool always = op->kind() == OpKind::If || op->kind() == OpKind::Stage ||
                  (IsLoop(op) && op->kind() != OpKind::While && !op->HasAttr(AttrKey::Breaks));
    bool counts = op->kind() != OpKind::Loop ||
                  instances_.terms().PolyOfValue(op->operand(2)).AsConstant().has_value();
    if (!always || !counts || instances_.IsShortened(op)) return false;
  }
  return !instances_.IsOpaque(touched);
}

Races::Class Races::ClassOf(const Site& site) {
  if (site.view.is_partial()) return kPartials;
  if (site.view.effect == Effect::Accumulate) return kAtomics;
  if (site.view.effect == Effect::Read) return kReads;
  if (site.view.is_append()) return kAppends;
  return site.view.is_fill() ? kFills : kWrites;
}

Races::Conflict Races::ConflictOf(Class a, Class b) {
  if (a == kPartials || b == kPartials) {
    Class other = a == kPartials ? b : a;
    return other == kPartials || other == kFills ? Conflict::None : Conflict::AnyBlock;
  }
  bool none = a == b && (a == kReads || a == kAppends || a == kAtomics);
  return none ? Conflict::None : Conflict::OtherBlock;
}

// -- Groups ------------------------------------------------------------------------------------

/// Returns the executions of a site without the variables that matter only inside its block.
PointSet Races::BlockRuns(const Site& site) {
  Loops loops = barriers_.LoopsAround(site.view.op);
  // Factors of products are kept, because they are compared between the two executions.
  std::set<std::string> multiplied;
  for (const std::string& variable : site.touched.Variables()) {
    for (const Product& product : instances_.ProductsOf(variable))
      multiplied.merge(Equal(instances_.Variable(variable), product.multiple).Variables());
  }
  auto is_inner = [&](const std::string& variable) {
    if (!instances_.IsDeclared(variable) || multiplied.contains(variable)) return false;
    bool is_block = site.walk ? instances_.IsBinderOf(variable, site.walk) ||
                                    instances_.IsRaggedBound(variable, site.walk)
                              : instances_.IsCore(variable);
    return !is_block && !IsShared(variable, loops);
  };
  return site.touched.WithSome(site.touched.Variables(is_inner));
}

std::vector<Races::Group> Races::GroupSites(const std::function<bool(const Site&)>& counts) {
  std::vector<Group> groups;
  std::map<std::pair<const Value*, const Op*>, size_t> known;
  for (const Site& site : sites_) {
    if (!counts(site)) continue;
    const Value* memory = ir::MemoryOf(site.view.tensor);
    const Op* place = barriers_.PlaceBetweenBarriers(site.view.op);
    auto [at, is_new] = known.try_emplace({memory, place}, groups.size());
    if (is_new) {
      groups.push_back({memory, place, site.walk, {}, {}});
      groups.back().touched.fill(instances_.None());
    }
    groups[at->second].sites[ClassOf(site)].push_back(&site);
  }
  return groups;
}

std::vector<Race> Races::FindCertain(const Value* memory) {
  auto counts = [&](const Site& site) {
    return site.is_certain && ir::MemoryOf(site.view.tensor) == memory;
  };
  return Find(counts, true);
}

std::vector<Race> Races::Find(const std::function<bool(const Site&)>& counts, bool is_certain) {
  std::vector<Group> groups = GroupSites(counts);
  std::set<const Value*> done;
  std::vector<Race> found;
  for (Group& group : groups) {
    std::vector<Race> races = done.contains(group.memory) ? found : RacesOfOne(group, is_certain);
    if (races.empty()) {
      Join(group);
    } else if (done.insert(group.memory).second) {
      found.push_back(races[0]);
    }
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    for (size_t j = i; j < groups.size() && !done.contains(groups[i].memory); ++j) {
      if (groups[i].memory != groups[j].memory) continue;
      std::vector<Race> races = RacesOf(groups[i], groups[j], is_certain);
      if (races.empty()) continue;
      found.push_back(races[0]);
      done.insert(groups[i].memory);
    }
  }
  return found;
}

void Races::Join(Group& group) {
  for (size_t c = 0; c < kClasses; ++c) {
    PointSet& touched = group.touched[c];
    for (const Site* site : group.sites[c]) {
      instances_.context().Allow(kStepsOfQuestion);
      touched |= BlockRuns(*site);
    }
    instances_.context().Allow(kStepsOfQuestion);
    touched = touched.Joined();
  }
}

/// Checks single sites first if checking all sites together would take long. If there is no proof for all
/// sites, there is usually a single site without a proof.
std::vector<Race> Races::RacesOfOne(const Group& group, bool is_certain) {
  size_t pieces = 0;
  for (const auto& sites : group.sites) {
    for (const Site* site : sites) pieces += site->touched.pieces();
  }
  if (pieces <= kMostAsked) return {};
  for (Way& way : barriers_.Ways(group.place, group.place)) {
    if (is_certain && !Narrow(group, way)) continue;
    for (size_t c = 0; c < kClasses; ++c) {
      std::vector<Race> races = AmongSites(group, group, way, Class(c), true);
      if (!races.empty()) return races;
    }
  }
  return {};
}

std::vector<Race> Races::RacesOf(const Group& a, const Group& b, bool is_certain) {
  for (Way& way : barriers_.Ways(a.place, b.place)) {
    if (!is_certain) EndIterations(a, way, false);
    if (is_certain && !Narrow(a, way)) continue;
    for (size_t ca = 0; ca < kClasses; ++ca) {
      for (Conflict conflict : {Conflict::OtherBlock, Conflict::AnyBlock}) {
        PointSet of_b = instances_.None();
        for (size_t cb = 0; cb < kClasses; ++cb) {
          if (ConflictOf(Class(ca), Class(cb)) == conflict) of_b |= b.touched[cb];
        }
        if (a.sites[ca].empty() || of_b.IsSurelyEmpty()) continue;
        if (Meet(a, b, way, a.touched[ca], of_b, conflict).IsSurelyEmpty()) continue;
        std::vector<Race> races = AmongSites(a, b, way, Class(ca), false);
        if (!races.empty()) return races;
      }
    }
  }
  return {};
}

/// Returns the first two sites that may race with each other, or the first site that may race with itself.
std::vector<Race> Races::AmongSites(const Group& a, const Group& b, const Way& way, Class ca,
                                    bool alone) {
  for (const Site* first : a.sites[ca]) {
    for (size_t cb = 0; cb < kClasses; ++cb) {
      Conflict conflict = ConflictOf(ca, Class(cb));
      if (conflict == Conflict::None) continue;
      for (const Site* second : b.sites[cb]) {
        if (alone && first != second) continue;
        PointSet runs = Meet(a, b, way, BlockRuns(*first), BlockRuns(*second), conflict);
        if (runs.IsSurelyEmpty()) continue;
        Loops equal = barriers_.LoopsAround(a.place);
        equal.resize(way.equal);
        return {{first, second, runs, equal}};
      }
    }
  }
  return {};
}

PointSet Races::TouchedElements(const Site& site) const {
  return site.touched.WithSome(
      site.touched.Variables([&](const std::string& variable) { return !IsShared(variable, {}); }));
}

PointSet Races::MaybeBefore(const Site& site) {
  PointSet before = instances_.None();
  const Op* place = barriers_.PlaceBetweenBarriers(site.view.op);
  bool in_iterations = !barriers_.LoopsAround(site.view.op).empty();
  bool is_after = false;
  for (const Site& other : sites_) {
    if (&other == &site) is_after = true;
    bool writes = other.view.effect != Effect::Read &&
                  ir::MemoryOf(other.view.tensor) == ir::MemoryOf(site.view.tensor);
    if (!writes) continue;
    const Op* common = site.view.op->parent_region()->parent();
    while (common && !instances_.LoopIsIn(other.view.op, common))
      common = common->parent_region()->parent();
    bool in_one_place = barriers_.PlaceBetweenBarriers(other.view.op) == place;
    bool after = is_after && !in_iterations && LoopOf(common) == site.walk;
    if (!after) {
      before |= TouchedElements(other);
    } else if (in_one_place) {  // another block or core may have executed `other` before
      PointSet runs = site.touched & SecondRun(BlockRuns(other), {}) &
                      OtherBlock(site.walk, other.walk, {}, true);
      before |= runs.WithSome(runs.Variables(IsPrimed));
    }
  }
  return before;
}

// -- Two runs ----------------------------------------------------------------------------------

/// Whether both executions share the variable. They always share variables for elements.
bool Races::IsShared(const std::string& variable, const Loops& equal) const {
  if (!instances_.IsDeclared(variable)) return true;
  const Scope& scope = instances_.ScopeOf(variable);
  return !scope.points && !scope.cores && (!scope.loop || Contains(equal, scope.loop));
}

PointSet Races::SecondRun(const PointSet& set, const Loops& equal) const {
  std::map<std::string, std::string> primes;
  for (const std::string& variable : set.Variables()) {
    if (!IsShared(variable, equal)) primes[variable] = Primed(variable);
  }
  return set.Renamed(primes);
}

PointSet Races::Meet(const Group& a, const Group& b, const Way& way, const PointSet& of_a,
                     const PointSet& of_b, Conflict conflict) {
  instances_.context().Allow(kStepsOfQuestion);
  Loops equal = barriers_.LoopsAround(a.place);
  const Op* loop = way.iterations == Way::Iterations::Same ? nullptr : equal[way.equal];
  equal.resize(way.equal);
  PointSet both = of_a & SecondRun(of_b, equal) & way.when;
  both &= way.is_swapped ? way.before & SecondRun(way.after, equal)
                         : way.after & SecondRun(way.before, equal);
  if (loop) both &= InIterations(way, loop);
  if (conflict == Conflict::OtherBlock) both &= OtherBlock(a.walk, b.walk, equal, !loop);
  if (a.walk && b.walk && !loop) both &= InOrderOfTables(a.walk, b.walk, equal);
  return Ordered(both, of_a, of_b, equal);
}

/// Adds the facts about products in both executions: products with the same factor are ordered like their
/// other operands.
PointSet Races::Ordered(PointSet both, const PointSet& of_a, const PointSet& of_b,
                        const Loops& equal) {
  for (const std::string& first : of_a.Variables()) {
    for (const std::string& second : of_b.Variables()) {
      if (IsShared(second, equal)) continue;
      for (const Product& p : instances_.ProductsOf(first)) {
        for (const Product& q : instances_.ProductsOf(second)) {
          bool counts = p.factor == q.factor && both.pieces() <= kMostAsked;
          if (counts) both &= InOrderOfRuns(p, q, equal);
        }
      }
    }
  }
  return both;
}

PointSet Races::InOrderOfRuns(const Product& first, const Product& second, const Loops& equal) {
  Affine a = instances_.Variable("#a");
  Affine b = instances_.Variable("#b");
  PointSet multiples = Equal(a, first.multiple) & SecondRun(Equal(b, second.multiple), equal);
  PointSet order = instances_.InOrder(a, instances_.Variable(first.product), b,
                                      instances_.Variable(Primed(second.product)), first.factor);
  return (multiples & order).WithSome({"#a", "#b"});
}

/// Returns the facts about blocks of two spmds, or of one, that assign equal parts to blocks with equal numbers: the parts that
/// they read from tables are in the same order as the blocks.
PointSet Races::InOrderOfTables(const Op* a, const Op* b, const Loops& equal) {
  PointSet order = instances_.All();
  for (const Ragged& first : instances_.ragged()) {
    for (const Ragged& second : instances_.ragged()) {
      bool counts = first.over() == a && second.over() == b &&
                    (&first == &second || (a != b && AreEqualParts(first, second)));
      PointSet of_both = counts ? InOrderOfParts(first, second, equal) : PointSet();
      if (of_both.known()) order &= of_both;
    }
  }
  return order;
}

/// Returns the facts about a part in the first execution and an equal or the same one in the second. Parts of different tables
/// are in no order.
PointSet Races::InOrderOfParts(const Ragged& first, const Ragged& second, const Loops& equal) {
  Terms& terms = instances_.terms();
  Affine a = instances_.Variable("#a");
  Affine b = instances_.Variable("#b");
  auto bounds = [&](const Poly& of_first, const Poly& of_second) {
    return Equal(a, instances_.AffineOf(of_first)) &
           SecondRun(Equal(b, instances_.AffineOf(of_second)), equal);
  };
  PointSet first_ends = bounds(first.upper, second.lower) & AtMost(a, b);
  PointSet second_ends = bounds(first.lower, second.upper) & AtMost(b, a);
  Affine number = First(terms.ScalarAtom(first.binder));
  Affine other = Second(terms.ScalarAtom(second.binder));
  PointSet order = Equal(number, other) |
                   (Less(number, other) & first_ends.WithSome({"#a", "#b"})) |
                   (Less(other, number) & second_ends.WithSome({"#a", "#b"}));
  for (size_t i = 0; i < first.tables.size(); ++i) {
    Affine table = First(terms.ScalarAtom(first.tables[i]));
    Affine of_second = Second(terms.ScalarAtom(second.tables[i]));
    order |= Less(table, of_second) | Less(of_second, table);
  }
  return order;
}

/// Returns the condition that the iteration of `binder` comes before that of `other` or, if `swapped` is
/// true, after it.
PointSet Races::Before(const Value* binder, const Value* other, bool swapped) {
  Terms& terms = instances_.terms();
  bool is_block = binder->type()->kind == ir::TypeKind::Block;
  auto iteration = [&](AtomId of_a, AtomId of_b, const Affine& apart) {
    Affine a = First(of_a);
    Affine b = Second(of_b);
    return swapped ? AtMost(b + apart, a) : AtMost(a + apart, b);
  };
  Affine one = instances_.Constant(1);
  if (!is_block) return iteration(terms.ScalarAtom(binder), terms.ScalarAtom(other), one);
  PointSet numbers = iteration(terms.NumberAtom(binder), terms.NumberAtom(other), one);
  if (instances_.ConstantExtent(binder)) return numbers;
  Poly extent = terms.PolyOfSize(instances_.kernel().axis(binder->type()->axes[0]).extent);
  return numbers &
         iteration(terms.StartAtom(binder), terms.StartAtom(other), instances_.AffineOf(extent));
}

PointSet Races::Same(const Value* binder, const Value* other) {
  Terms& terms = instances_.terms();
  auto equal = [&](AtomId a, AtomId b) { return Equal(First(a), Second(b)); };
  if (binder->type()->kind != ir::TypeKind::Block)
    return equal(terms.ScalarAtom(binder), terms.ScalarAtom(other));
  PointSet same = equal(terms.NumberAtom(binder), terms.NumberAtom(other));
  if (instances_.ConstantExtent(binder)) return same;
  return same & equal(terms.StartAtom(binder), terms.StartAtom(other)) &
         equal(terms.CountAtom(binder), terms.CountAtom(other));
}

PointSet Races::InIterations(const Way& way, const Op* loop) {
  if (loop->kind() == OpKind::While) return instances_.All();
  const Value* binder = loop->region()->param(0);
  PointSet iterations = Before(binder, binder, way.is_swapped);
  bool is_block = binder->type()->kind == ir::TypeKind::Block;
  std::optional<int64_t> step = is_block
                                    ? std::optional<int64_t>(1)
                                    : instances_.terms().PolyOfValue(loop->operand(2)).AsConstant();
  if (way.iterations != Way::Iterations::Next || !step) return iterations;
  Terms& terms = instances_.terms();
  AtomId iteration = is_block ? terms.NumberAtom(binder) : terms.ScalarAtom(binder);
  Affine a = First(iteration);
  Affine b = Second(iteration);
  if (way.is_swapped) std::swap(a, b);
  return iterations & Equal(b, a + instances_.Constant(*step));
}

/// Returns the condition for the last or the first iteration of a loop; unknown for a `while`.
PointSet Races::AtEnd(const Op* loop, bool is_last) {
  if (loop->kind() == OpKind::While) return {};
  const Value* binder = loop->region()->param(0);
  std::optional<LoopEnds> bounds = LoopEndsOf(binder);
  if (!bounds) return {};
  Terms& terms = instances_.terms();
  bool is_block = binder->type()->kind == ir::TypeKind::Block;
  AtomId start = is_block ? terms.StartAtom(binder) : terms.ScalarAtom(binder);
  Affine from = instances_.AffineOf(Poly::Atom(start));
  if (!is_last) return Equal(from, instances_.AffineOfValue(bounds->lo));
  Affine length = is_block ? instances_.AffineOf(Poly::Atom(terms.CountAtom(binder)))
                           : instances_.AffineOfValue(loop->operand(2));
  return AtMost(instances_.AffineOfValue(bounds->hi), from + length);
}

/// Restricts the iterations of the loops that a path exits or enters. If all iterations of a loop wait at a
/// barrier, only the last iteration can conflict with code after the loop, and only the first with code
/// before it. If `may` is true, the same is assumed for loops whose iterations may wait.
void Races::EndIterations(const Group& a, Way& way, bool may) {
  Loops equal = barriers_.LoopsAround(a.place);
  equal.resize(way.equal);
  auto add = [&](const Loops& loops, bool is_last, bool is_a) {
    for (const Op* loop : loops) {
      bool leaves_early = is_last && loop->HasAttr(AttrKey::Breaks);
      if (!may && (leaves_early || !barriers_.AlwaysWaits(loop))) continue;
      PointSet at = AtEnd(loop, is_last);
      if (may || at.known()) way.when &= is_a ? at : SecondRun(at, equal);
    }
  };
  add(way.left, true, !way.is_swapped);
  add(way.entered, false, way.is_swapped);
}

/// Restricts a path to the cases in which it surely contains no barrier. Returns false if there are none.
bool Races::Narrow(const Group& a, Way& way) {
  if (way.may_wait) way.iterations = Way::Iterations::Next;
  EndIterations(a, way, true);
  return way.is_certain && way.when.known();
}

PointSet Races::OtherBlock(const Op* a, const Op* b, const Loops& equal, bool same_iteration) {
  if (!a && !b) {
    AtomId core = instances_.terms().CoreIdAtom();
    Affine first = First(core);
    Affine second = Second(core);
    return Less(first, second) | Less(second, first);
  }
  if (!a || !b) return instances_.All();
  if (a == b && same_iteration) return OtherNumbers(a, b);
  auto distribute = a->attr<AttrKey::Distribute>();
  bool one_domain = a->HasAttr(AttrKey::Domain) && b->HasAttr(AttrKey::Domain) &&
                    a->attr<AttrKey::Domain>() == b->attr<AttrKey::Domain>() &&
                    ir::AreDistributedAlike(a, b) && distribute != ir::DistributionKind::Dynamic;
  auto kind = [](const Value* binder) { return binder->type()->kind; };
  bool alike = std::ranges::equal(a->region()->params(), b->region()->params(), {}, kind, kind);
  if (!one_domain || !alike) return instances_.All();
  return OtherBounds(a, b, equal) | OtherNumbers(a, b);
}

/// Returns the condition that some loop variable has different values in the two executions. The variables
/// are compared outermost first.
PointSet Races::OtherNumbers(const Op* a, const Op* b) {
  PointSet other = instances_.None();
  PointSet same = instances_.All();
  for (size_t i = 0; i < a->region()->params().size(); ++i) {
    const Value* of_a = a->region()->param(i);
    const Value* of_b = b->region()->param(i);
    other |= same & (Before(of_a, of_b, false) | Before(of_a, of_b, true));
    same &= Same(of_a, of_b);
  }
  return other;
}

/// Returns the condition that the bounds of two spmds differ. Blocks with equal numbers are certain to run on
/// the same core only if the bounds are equal.
PointSet Races::OtherBounds(const Op* a, const Op* b, const Loops& equal) {
  PointSet other = instances_.None();
  const ir::Function& kernel = instances_.kernel();
  for (size_t i = 0; i < a->region()->params().size(); ++i) {
    ir::Type of_a = a->region()->param(i)->type();
    ir::Type of_b = b->region()->param(i)->type();
    bool alike = of_a->kind != ir::TypeKind::Block ||
                 kernel.axis(of_a->axes[0]).extent == kernel.axis(of_b->axes[0]).extent;
    if (!alike) return instances_.All();
  }
  Affine first = instances_.Variable("#a");
  Affine second = instances_.Variable("#b");
  for (size_t i = 0; i < a->operands().size(); ++i) {
    PointSet bounds = Equal(first, instances_.AffineOfValue(a->operand(i))) &
                      SecondRun(Equal(second, instances_.AffineOfValue(b->operand(i))), equal);
    if (!bounds.known()) return instances_.All();
    other |= (bounds & (Less(first, second) | Less(second, first))).WithSome({"#a", "#b"});
  }
  return other;
}

PointSet Races::Twice(const Site& site) {
  instances_.context().Allow(kStepsOfQuestion);
  std::map<std::string, std::string> primes;
  for (const std::string& variable : site.touched.Variables()) {
    bool of_point = instances_.IsDeclared(variable) && instances_.ScopeOf(variable).points;
    if (of_point) primes[variable] = Primed(variable);
  }
  PointSet other = instances_.None();
  PointSet same = instances_.All();
  for (ir::AxisId axis : site.view.axes()) {
    const Value* block = ir::FindBlock(site.view.op, axis);
    AtomId element = instances_.terms().ElementAtom(block);
    Affine a = First(element);
    Affine b = Second(element);
    other |= same & Less(a, b);
    same &= Equal(a, b);
  }
  return site.touched & site.touched.Renamed(primes) & other;
}

}  // namespace kdl::proofs
