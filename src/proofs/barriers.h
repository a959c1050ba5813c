#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proofs/instances.h"

namespace kdl::proofs {

/// Describes how a core can execute one of two places in a kernel and then the other without a barrier in
/// between. Both places are outside of `spmd for`, and in the same iteration of the outermost `equal` loops
/// that enclose them both. If more loops enclose both places, they are in different iterations of the next
/// one, unless `iterations` is `Same`.
struct Way {
  size_t equal = 0;
  enum class Iterations : uint8_t {
    Same,     ///< both places in the same iteration of all common loops
    Earlier,  ///< the first place in an earlier iteration of the next common loop
    Next,     ///< like `Earlier`, with the second place in the very next iteration
  } iterations = Iterations::Same;
  bool is_swapped = false;  ///< whether the second place is executed first
  /// This member and the next two are the parts of the condition under which no barrier is executed in
  /// between. They may be weaker than that condition. This part concerns the iterations that contain both
  /// places.
  PointSet when{};
  /// The part of the condition that concerns the iterations that contain only the place executed first.
  PointSet after{};
  /// The part of the condition that concerns the iterations that contain only the place executed second.
  PointSet before{};
  bool is_certain = true;  ///< whether all three parts of the condition are exact
  /// The loops that contain a barrier and the place executed first, and that the path exits. The path is
  /// certain to contain no barrier only if it starts in the last iteration of each of these loops.
  std::vector<const ir::Op*> left{};
  /// The loops that contain a barrier and the place executed second, and that the path enters. The path is
  /// certain to contain no barrier only if it ends in the first iteration of each of these loops.
  std::vector<const ir::Op*> entered{};
  /// Whether the path may skip iterations of the innermost common loop that wait at a barrier. If so, the
  /// path is certain to contain no barrier only if it leads to the very next iteration.
  bool may_wait = false;
};

/// Determines the ordering that `sync` imposes. Stages count as barriers here; the pipes between them are
/// checked elsewhere.
class Barriers {
 public:
  explicit Barriers(Instances& instances) : instances_(instances) {}

  /// Returns the loops around an op that are outside of spmds and contain an spmd or a barrier. The outermost
  /// loop comes first.
  std::vector<const ir::Op*> LoopsAround(const ir::Op* op);
  /// Returns the op that represents `op` when barriers are compared: the enclosing spmd or, if there is none,
  /// the outermost enclosing op that contains neither a barrier nor an spmd.
  const ir::Op* PlaceBetweenBarriers(const ir::Op* op);
  /// Returns all ways in which two places can be executed without a barrier in between.
  std::vector<Way> Ways(const ir::Op* a, const ir::Op* b);
  /// Returns whether every iteration of a loop that another one follows waits at a barrier.
  bool AlwaysWaits(const ir::Op* loop);
  /// Returns whether each core that has passed the op is certain to have waited for all other cores.
  bool IsBarrier(const ir::Op* op) { return HasBarrier(op) && Through(op).never; }
  /// Returns whether the op is or contains an spmd.
  bool HasWalk(const ir::Op* op);

 private:
  /// The launches, and the iterations of the enclosing loops, in which some path contains no barrier.
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
  Free Continues(const ir::Op* loop);
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
