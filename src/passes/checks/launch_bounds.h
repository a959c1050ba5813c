#pragma once

#include "proofs/proofs.h"

namespace kdl::passes {

/// Moves bounds checks that depend only on sizes to the launch. If an access is always reached, and its
/// indices go from one sum of sizes to another, it is in bounds if both ends are.
///
///   spmd (%i: block<i> in 0 .. N) { load %x[%i + 3] }
///   ->  require min(1, N) * (N + 3) - 1 < M   after the kernel's `where`s
///
/// Loops without iterations access nothing: the first factor then makes the checked index 0 or -1, which passes.
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
