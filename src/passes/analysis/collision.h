#pragma once

#include <vector>

#include "passes/analysis/prover.h"

namespace kdl::passes {

/// An access as one run makes it.
struct Touch {
  AccessView view;
  Run run;
  bool anywhere =
      false;  ///< nothing is known of where it stands: true for all accesses with these indices
};

/// What numbers the runs of two touches: a blk or a scalar binder of each, or, both null, the cores.
struct KeyPair {
  const ir::Value* a = nullptr;
  const ir::Value* b = nullptr;
};

/// Whether two touches of one tensor meet in an element, in the field's words the dependence test. Both must have other
/// run numbers. True is a proof, false means nothing.
class Collision {
 public:
  Collision(Terms& terms, const Touch& a, const Touch& b);

  /// They never meet.
  bool Never();
  /// They meet only where each key of one run equals that of the other.
  bool OnlyWhereEqual(const std::vector<KeyPair>& keys);
  /// The same for two points of one access within one run.
  bool OnlyAtOnePoint();

 private:
  bool Contradicts(Prover& prover);
  bool Determines(AtomId a, AtomId b, int64_t step);
  bool Determines(const KeyPair& key);
  bool DeterminesBlock(const ir::Value* a, const ir::Value* b);
  void Equate(AtomId a, AtomId b);
  bool EquateOneMore();

  Terms& terms_;
  Touch a_;
  Touch b_;
  Prover known_;
  std::vector<Poly> differences_;  ///< of the indices; all 0 where they meet
};

/// The axes over which an access names its elements.
ir::AxisList AxesOf(const AccessView& view);

}  // namespace kdl::passes
