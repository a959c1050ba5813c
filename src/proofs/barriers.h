#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proofs/instances.h"

namespace kdl::proofs {

/// A way in which two places of a kernel, outside of `spmd for`, can be executed one after the other without
/// a barrier in between. Both are in the same iteration of the first `equal` common loops and, if there is
/// one more common loop, in different iterations of it.
struct Way {
  size_t equal = 0;
  enum class Iterations : uint8_t {
    Same,     ///< the same iteration of all common loops
    Earlier,  ///< the first place in an earlier iteration of the next loop
    Next,     ///< the same, with the second place in the iteration right after it
  } iterations = Iterations::Same;
  bool is_swapped = false;  ///< the second place comes first
  /// The conditions for having no barrier in between, or weaker ones: on the iterations that contain both
  /// places (`when`), on those of the place that comes first (`after`), and on those of the other one
  /// (`before`).
  PointSet when{};
  PointSet after{};
  PointSet before{};
  bool is_certain = true;  ///< whether the conditions are exact
  /// `left`: loops with a barrier around the first place, which are left. `entered`: those around the second
  /// place, which are entered. `may_wait`: whether iterations of the next loop in between may wait. There is
  /// certainly no barrier only if the way starts in a last iteration, ends in a first one, and leads to the
  /// very next iteration.
  std::vector<const ir::Op*> left{};
  std::vector<const ir::Op*> entered{};
  bool may_wait = false;
};

/// What `sync` orders. Stages count as barriers here; the pipes between them are checked elsewhere.
class Barriers {
 public:
  explicit Barriers(Instances& instances) : instances_(instances) {}

  /// Returns the loops outside of spmds that contain an spmd or a barrier, outermost first.
  std::vector<const ir::Op*> LoopsAround(const ir::Op* op);
  /// Returns the op that represents `op` between barriers: the enclosing spmd or, without one, the outermost
  /// op around it without a barrier or spmd.
  const ir::Op* PlaceBetweenBarriers(const ir::Op* op);
  /// Returns all ways in which two places can be executed without a barrier in between.
  std::vector<Way> Ways(const ir::Op* a, const ir::Op* b);
  /// Returns whether every iteration of a loop that is completed waits at a barrier.
  bool AlwaysWaits(const ir::Op* loop) { return Through(loop->region()).never; }
  /// Returns whether each core that passes the op has waited for all others.
  bool IsBarrier(const ir::Op* op) { return HasBarrier(op) && Through(op).never; }
  /// Returns whether it is or contains an spmd.
  bool HasWalk(const ir::Op* op);

 private:
  /// The launches and the iterations of enclosing loops for which there is a path without a barrier.
  struct Free {
    PointSet when;
    bool is_certain = true;
    bool never = false;  ///< whether `when` is empty
    Free& operator&=(const Free& other);
  };
  bool HasBarrier(const ir::Op* op);
  Free All() const { return {instances_.All()}; }
  Free None() const { return {instances_.None(), true, true}; }
  bool AddBetween(const ir::Op* op, const ir::Op* end, Free& free);
  Free Through(const ir::Op* op);
  Free Through(const ir::Region* region);
  Free SameOnAllCores(PointSet when) const;
  Free Outside(Free free, const ir::Op* loop) const;
  Free Without(Free free, const std::vector<std::string>& variables) const;
  Free After(const ir::Op* op, const ir::Region* end);
  Free InFrontOf(const ir::Op* op, const ir::Region* end);
  static void Add(Way way, const Free& after, const Free& between, const Free& before,
                  std::vector<Way>& ways);
  std::vector<const ir::Op*> WaitingLoops(const ir::Op* place, const ir::Region* within);
  void AddInOneIteration(const ir::Op* a, const ir::Op* b, size_t loops, std::vector<Way>& ways);

  Instances& instances_;
  std::map<const ir::Op*, bool> has_barrier_;
  std::map<const ir::Op*, bool> has_walk_;
  std::map<const ir::Op*, Free> through_;
};

}  // namespace kdl::proofs
