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

/// An access with where it stands.
struct Site {
  AccessView view;
  const ir::Op* walk;  ///< the `spmd for` around it; null: each core runs it
  PointSet touched;    ///< its runs and the elements that they touch; more where that is not known
  bool is_certain;     ///< no less, whatever the data is
};

/// Two accesses of which a run by one block and a run by another one may touch one element, with no barrier between.
struct Race {
  const Site* a;
  const Site* b;  ///< may be the same one
  PointSet
      runs;  ///< of both: the variables of the second one have a prime, those that both share have none
  std::vector<const ir::Op*> equal;  ///< loops outside of walks of which both are in one turn
};

/// Finds accesses that race. What one block does, or, outside of `spmd for`, one core, happens in order; so does what the
/// blocks of equal numbers do that walks over one named domain have, where their bounds are equal.
class Races {
 public:
  /// Of all memories but those that are known to have no race.
  explicit Races(Instances& instances, const std::set<const ir::Value*>& safe = {});

  const std::vector<Site>& sites() const { return sites_; }
  Elements& elements() { return elements_; }
  /// A race for each memory that may have one.
  std::vector<Race> Find() {
    return Find([](const Site&) { return true; }, false);
  }
  /// Among the accesses of a memory that happen whatever the data is.
  std::vector<Race> FindCertain(const ir::Value* memory);
  /// Runs of a store that touch one element at two points; the second point's variables have a prime.
  PointSet Twice(const Site& site);

  /// The elements that a site may touch, in any run.
  PointSet ElementsOf(const Site& site) const;
  /// The elements that something may write before a run of the site: with that run's variables.
  PointSet MaybeBefore(const Site& site);
  /// The loops outside of walks around a site that order what races, outermost first.
  std::vector<const ir::Op*> LoopsAround(const Site& site) {
    return barriers_.LoopsAround(site.view.op);
  }
  static std::string Primed(const std::string& variable) { return variable + "'"; }
  /// What is said of a run, said of the second one.
  PointSet SecondRun(const PointSet& set, const std::vector<const ir::Op*>& equal) const;

 private:
  enum Class : size_t { kReads, kWrites, kAtomics, kPartials, kFills, kClasses };
  enum class Conflict : uint8_t { None, OtherBlock, AnyBlock };
  using Loops = std::vector<const ir::Op*>;

  /// Accesses of one memory between the same barriers, in the same walk.
  struct Group {
    const ir::Value* memory;
    const ir::Op* place;
    const ir::Op* walk;
    std::array<std::vector<const Site*>, kClasses> sites;
    std::array<PointSet, kClasses> touched;  ///< by the sites of a class together
  };

  void Collect(const ir::Region* region, const ir::Op* walk,
               const std::set<const ir::Value*>& written);
  bool IsCertain(const AccessView& view, const PointSet& touched) const;
  static Class ClassOf(const Site& site);
  static Conflict ConflictOf(Class a, Class b);
  std::vector<Group> GroupsOf(const std::function<bool(const Site&)>& counts);
  PointSet OfBlocks(const Site& site);
  std::vector<Race> Find(const std::function<bool(const Site&)>& counts, bool is_certain);
  void Join(Group& group);
  std::vector<Race> RacesOfOne(const Group& group, bool is_certain);
  std::vector<Race> RacesOf(const Group& a, const Group& b, bool is_certain);
  std::vector<Race> AmongSites(const Group& a, const Group& b, const Way& way, Class ca,
                               bool alone);
  PointSet Meet(const Group& a, const Group& b, const Way& way, const PointSet& of_a,
                const PointSet& of_b, Conflict conflict);

  /// The atom as a variable of the first run, and of the second one.
  Affine First(AtomId atom) { return instances_.Variable(instances_.NameOf(atom)); }
  Affine Second(AtomId atom) { return instances_.Variable(Primed(instances_.NameOf(atom))); }
  bool IsShared(const std::string& variable, const Loops& equal) const;
  PointSet Ordered(PointSet both, const PointSet& of_a, const PointSet& of_b, const Loops& equal);
  PointSet InOrderOfRuns(const Product& first, const Product& second, const Loops& equal);
  PointSet InOrderOfTables(const ir::Op* walk, const Loops& equal);
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
