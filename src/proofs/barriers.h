#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proofs/instances.h"

namespace kdl::proofs {

/// A way to execute one of two places of a kernel, both outside of `spmd for`, and then the other one without
/// a barrier in between. Both places are in the same iteration of the first `equal` common loops. If there is
/// one more common loop, they are in different iterations of that loop.
struct Way {
  size_t equal = 0;
  enum class Iterations : uint8_t {
    Same,     ///< both places in the same iteration of all common loops
    Earlier,  ///< the first place in an earlier iteration of the next common loop
    Next,     ///< like Earlier, with the second place in the very next iteration
  } iterations = Iterations::Same;
  bool is_swapped = false;  ///< the second place is executed first
  /// The conditions for having no barrier in between, or weaker conditions. `when` is the part about the
  /// iterations that contain both places.
  PointSet when{};
  /// The part about the iterations that contain only the place that is executed first.
  PointSet after{};
  /// The part about the iterations that contain only the place that is executed second.
  PointSet before{};
  bool is_certain = true;  ///< whether the three conditions are exact
  /// The loops that contain a barrier, enclose the place executed first, and are exited by the path. The
  /// path is certain to contain no barrier only if it starts in the last iteration of each of these loops.
  std::vector<const ir::Op*> left{};
  /// The loops that contain a barrier, enclose the place executed second, and are entered by the path. The
  /// path is certain to contain no barrier only if it ends in the first iteration of each of these loops.
  std::vector<const ir::Op*> entered{};
  /// Whether iterations of the innermost common loop that the path skips may wait at a barrier. If so, the
  /// path is certain to contain no barrier only if it leads to the very next iteration.
  bool may_wait = false;
};

/// Determines the ordering that `sync` imposes. Stages count as barriers here; the pipes between them are
/// checked elsewhere.
class Barriers {
 public:
  explicit Barriers(Instances& instances) : instances_(instances) {}

  /// Returns the loops around an op, outside of spmds, that contain an spmd or a barrier, outermost first.
  std::vector<const ir::Op*> LoopsAround(const ir::Op* op);
  /// Returns the op that represents `op` between barriers: the enclosing spmd or, if there is none, the
  /// outermost op around it that contains neither a barrier nor an spmd.
  const ir::Op* PlaceBetweenBarriers(const ir::Op* op);
  /// Returns all ways in which two places can be executed without a barrier in between.
  std::vector<Way> Ways(const ir::Op* a, const ir::Op* b);
  /// Returns whether every completed iteration of a loop waits at a barrier.
  bool AlwaysWaits(const ir::Op* loop) { return Through(loop->region()).never; }
  /// Returns whether each core that passes the op has waited for all other cores.
  bool IsBarrier(const ir::Op* op) { return HasBarrier(op) && Through(op).never; }
  /// Returns whether the op is or contains an spmd.
  bool HasWalk(const ir::Op* op);

 private:
  /// The launches, and the iterations of enclosing loops, in which some path has no barrier.
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
