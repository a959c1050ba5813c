#pragma once

#include "proofs/proofs.h"

namespace kdl::passes {

/// Replaces bounds checks that depend only on sizes with checks before the launch. If an access is always
/// reached, and its index ranges from one sum of sizes to another, the access is in bounds if both sums are
/// in bounds.
///
///   spmd (%i: block<i> in 0 .. N) { load %x[%i + 3] }
///   ->  require min(1, N) * (N + 3) - 1 < M   after the kernel's `where`s
///
/// A loop without iterations accesses nothing. In that case, the factor `min(1, N)` is 0, so that the checked
/// value is 0 or -1 and passes the check.
class LaunchBounds {
 public:
  LaunchBounds(ir::Module& module, ir::Function& function, proofs::Inside& inside)
      : module_(module), function_(function), inside_(inside) {}

  /// Returns whether the launch now checks that the index is in bounds. If not, nothing has changed.
  bool Add(const proofs::AccessView& view, const proofs::OpenIndex& open);

 private:
  void Require(const proofs::AccessView& view, const proofs::OpenIndex& open, Size index,
               ir::CompareKind compare, Size bound);

  ir::Module& module_;
  ir::Function& function_;
  proofs::Inside& inside_;
};

}  // namespace kdl::passes
