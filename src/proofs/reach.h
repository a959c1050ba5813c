#pragma once

#include <optional>
#include <vector>

#include "proofs/terms.h"

namespace kdl::proofs {

/// Determines how far the indices of an access reach, in terms of the sizes of a launch.
class Reach {
 public:
  explicit Reach(Terms& terms) : terms_(terms) {}

  /// Returns whether an access is always executed at all its points: it has no mask, and is only inside loops
  /// that have no early exit and whose bounds depend only on the launch.
  bool IsAlways(const AccessView& view);
  /// Returns the greatest or least value that an index takes in the loops around it, in terms of sizes.
  /// Returns nothing if it is not obvious.
  std::optional<Poly> Extreme(Poly index, bool greatest) const;
  /// Returns the numbers of iterations of the loops around an access that is always executed, and the sizes
  /// of the blocks in its index that do not belong to loops. Returns nothing if any of these numbers depends
  /// on more than the launch.
  std::optional<std::vector<Poly>> Iterations(const AccessView& view);
  /// Returns whether the polynomial consists only of size names and numbers.
  bool IsOfLaunch(const Poly& poly) const;

 private:
  bool HasLaunchBounds(const ir::Region& region);
  std::optional<AtomId> GreatestOfLoops(const Poly& poly) const;

  Terms& terms_;
};

}  // namespace kdl::proofs
