#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proofs/instances.h"

namespace kdl::proofs {

/// A way two places of a kernel, outside of `spmd for`, are run one after the other with no barrier between them: in one turn
/// of the first `equal` loops around both, and, if there is a further one, in turns of it that differ.
struct Way {
  size_t equal = 0;
  enum class Iterations : uint8_t {
    Same,     ///< of all loops around both
    Earlier,  ///< the first place in an earlier turn of the next loop
    Next,     ///< the same, and the second one in the turn right after
  } iterations = Iterations::Same;
  bool is_swapped = false;  ///< the second place comes first
  /// Where no barrier lies between, or more: of the turns that both are in, of those of the place that comes first, and of
  /// those of the other one.
  PointSet when{};
  PointSet behind{};
  PointSet before{};
  bool is_certain = true;  ///< no more
  /// Loops with a barrier around the first place that are left, around the second one that are entered, and whether turns of
  /// the further loop that lie between may wait: there is surely no barrier only from a last turn on, to a first one, to the
  /// next one.
  std::vector<const ir::Op*> left{};
  std::vector<const ir::Op*> entered{};
  bool may_wait = false;
};

/// What `sync` orders. Stages are ordered like it: what joins them is looked at elsewhere.
class Barriers {
 public:
  explicit Barriers(Instances& instances) : instances_(instances) {}

  /// The loops outside of walks that have a walk or a barrier in them, outermost first.
  std::vector<const ir::Op*> LoopsAround(const ir::Op* op);
  /// The op that stands for `op` between barriers: the walk that it is in, else the outermost op around it with neither
  /// barrier nor walk.
  const ir::Op* PlaceOf(const ir::Op* op);
  /// All ways in which two places meet without a barrier.
  std::vector<Way> Ways(const ir::Op* a, const ir::Op* b);
  /// Whether each turn of a loop waits that comes to its end.
  bool AlwaysWaits(const ir::Op* loop) { return Through(loop->region()).never; }
  /// Whether each core that comes by has waited for all others.
  bool IsBarrier(const ir::Op* op) { return HasBarrier(op) && Through(op).never; }
  /// Whether it deals blocks to cores, or has something in it that does.
  bool HasWalk(const ir::Op* op);

 private:
  /// Where there is a way without a barrier, as launches and turns of the loops around it.
  struct Free {
    PointSet when;
    bool is_certain = true;
    bool never = false;  ///< `when` is empty
    Free& operator&=(const Free& other);
  };
  bool HasBarrier(const ir::Op* op);
  Free All() const { return {instances_.All()}; }
  Free None() const { return {instances_.None(), true, true}; }
  bool AddBetween(const ir::Op* op, const ir::Op* end, Free& free);
  Free Through(const ir::Op* op);
  Free Through(const ir::Region* region);
  Free OfCores(PointSet when) const;
  Free Outside(Free free, const ir::Op* loop) const;
  Free Without(Free free, const std::vector<std::string>& variables) const;
  Free Behind(const ir::Op* op, const ir::Region* end);
  Free InFrontOf(const ir::Op* op, const ir::Region* end);
  static void Add(Way way, const Free& behind, const Free& between, const Free& before,
                  std::vector<Way>& ways);
  std::vector<const ir::Op*> WaitingLoops(const ir::Op* place, const ir::Region* within);
  void AddInOneIteration(const ir::Op* a, const ir::Op* b, size_t loops, std::vector<Way>& ways);

  Instances& instances_;
  std::map<const ir::Op*, bool> has_barrier_;
  std::map<const ir::Op*, bool> has_walk_;
  std::map<const ir::Op*, Free> through_;
};

}  // namespace kdl::proofs
