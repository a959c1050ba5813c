#pragma once

#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "proofs/barriers.h"
#include "proofs/elements.h"

namespace kdl::proofs {

/// An access and its context.
struct Site {
  AccessView view;
  const ir::Op* walk;  ///< the enclosing `spmd for`; null if each core executes the access
  PointSet touched;    ///< the access's executions and the elements that they access, or a superset
  bool is_certain;     ///< whether `touched` is exact regardless of the data
};

/// Two accesses through which different blocks may access the same element without a barrier in between.
struct Race {
  const Site* a;
  const Site* b;  ///< may be the same site
  /// The executions of both accesses. The variables of the second execution are marked with a prime, unless
  /// they are shared.
  PointSet runs;
  /// The loops outside of spmds in which both executions are in the same iteration.
  std::vector<const ir::Op*> equal;
};

/// Finds accesses that race. The accesses of one block, or of one core outside of `spmd for`, are executed in
/// order. The same is true of the accesses of blocks with equal numbers, if their spmds are over one named
/// domain with equal bounds.
class Races {
 public:
  /// Collects the accesses to all memories except those that are known to have no races.
  explicit Races(Instances& instances, const std::set<const ir::Value*>& safe = {});

  const std::vector<Site>& sites() const { return sites_; }
  Elements& elements() { return elements_; }
  /// Returns one race for each memory that may have one.
  std::vector<Race> Find() {
    return Find([](const Site&) { return true; }, false);
  }
  /// Returns races between accesses to a memory that are executed regardless of the data.
  std::vector<Race> FindCertain(const ir::Value* memory);
  /// Returns the executions of a store that write one element at two points. The variables of the second
  /// point are marked with a prime.
  PointSet Twice(const Site& site);

  /// Returns the elements that a site may access, in any execution.
  PointSet TouchedElements(const Site& site) const;
  /// Returns the elements that may be written before an execution of the site, in terms of that execution's
  /// variables.
  PointSet MaybeBefore(const Site& site);
  /// Returns the loops around a site that are outside of spmds and matter for races. The outermost loop comes
  /// first.
  std::vector<const ir::Op*> LoopsAround(const Site& site) {
    return barriers_.LoopsAround(site.view.op);
  }
  static std::string Primed(const std::string& variable) { return variable + "'"; }
  static bool IsPrimed(const std::string& variable) { return variable.ends_with('\''); }
  /// Converts a condition on the first execution to one on the second.
  PointSet SecondRun(const PointSet& set, const std::vector<const ir::Op*>& equal) const;

 private:
  enum Class : size_t { kReads, kWrites, kAppends, kAtomics, kPartials, kFills, kClasses };
  enum class Conflict : uint8_t { None, OtherBlock, AnyBlock };
  using Loops = std::vector<const ir::Op*>;

  /// The accesses to one memory that are between the same barriers and in the same spmd.
  struct Group {
    const ir::Value* memory;
    const ir::Op* place;
    const ir::Op* walk;
    std::array<std::vector<const Site*>, kClasses> sites;
    std::array<PointSet, kClasses> touched;  ///< for each class, the elements that its sites access
  };

  void Collect(const ir::Region* region, const ir::Op* walk,
               const std::set<const ir::Value*>& written);
  bool IsCertain(const AccessView& view, const PointSet& touched) const;
  static Class ClassOf(const Site& site);
  static Conflict ConflictOf(Class a, Class b);
  std::vector<Group> GroupSites(const std::function<bool(const Site&)>& counts);
  PointSet BlockRuns(const Site& site);
  std::vector<Race> Find(const std::function<bool(const Site&)>& counts, bool is_certain);
  void Join(Group& group);
  std::vector<Race> RacesOfOne(const Group& group, bool is_certain);
  std::vector<Race> RacesOf(const Group& a, const Group& b, bool is_certain);
  std::vector<Race> AmongSites(const Group& a, const Group& b, const Way& way, Class ca,
                               bool alone);
  PointSet Meet(const Group& a, const Group& b, const Way& way, const PointSet& of_a,
                const PointSet& of_b, Conflict conflict);

  /// Returns the atom's variable in the first execution.
  Affine First(AtomId atom) { return instances_.Variable(instances_.VariableName(atom)); }
  /// Returns the atom's variable in the second execution.
  Affine Second(AtomId atom) { return instances_.Variable(Primed(instances_.VariableName(atom))); }
  bool IsShared(const std::string& variable, const Loops& equal) const;
  PointSet Ordered(PointSet both, const PointSet& of_a, const PointSet& of_b, const Loops& equal);
  PointSet InOrderOfRuns(const Product& first, const Product& second, const Loops& equal);
  PointSet InOrderOfTables(const ir::Op* a, const ir::Op* b, const Loops& equal);
  PointSet InOrderOfParts(const Ragged& first, const Ragged& second, const Loops& equal);
  PointSet InIterations(const Way& way, const ir::Op* loop);
  void EndIterations(const Group& a, Way& way, bool may);
  bool Narrow(const Group& a, Way& way);
  PointSet AtEnd(const ir::Op* loop, bool of_iterations);
  PointSet OtherBlock(const ir::Op* a, const ir::Op* b, const Loops& equal, bool same_iteration);
  PointSet OtherBounds(const ir::Op* a, const ir::Op* b, const Loops& equal);
  PointSet OtherNumbers(const ir::Op* a, const ir::Op* b);
  PointSet Before(const ir::Value* binder, const ir::Value* other, bool swapped);
  PointSet Same(const ir::Value* binder, const ir::Value* other);

  Instances& instances_;
  Elements elements_;
  Barriers barriers_;
  std::vector<Site> sites_;
};

}  // namespace kdl::proofs
