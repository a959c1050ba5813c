#pragma once

#include <optional>
#include <vector>

#include "proofs/terms.h"

namespace kdl::proofs {

/// How far an access's indices reach in a launch whose sizes are known.
class Reach {
 public:
  explicit Reach(Terms& terms) : terms_(terms) {}

  /// Around it are loops alone whose bounds the launch gives, so that each of their turns is made; no mask leaves points out.
  bool IsAlways(const AccessView& view);
  /// The greatest, or least, index that the loops around it take, of sizes alone; nothing where that is not plain.
  std::optional<Poly> Extreme(Poly index, bool greatest) const;
  /// How many turns the loops around an access that is always reached make, and how many elements the blocks of its index have
  /// that no loop binds; nothing where the launch alone does not say it.
  std::optional<std::vector<Poly>> Iterations(const AccessView& view);
  /// Made of size names and numbers alone.
  bool IsOfLaunch(const Poly& poly) const;

 private:
  bool HasLaunchBounds(const ir::Region& region);
  std::optional<AtomId> GreatestOfLoops(const Poly& poly) const;

  Terms& terms_;
};

}  // namespace kdl::proofs
