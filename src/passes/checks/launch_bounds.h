#pragma once

#include "proofs/proofs.h"

namespace kdl::passes {

/// Lets the launch check what its sizes decide: an access that is always reached, whose indices go from one sum of sizes to
/// another, is inside where these are.
///
///   spmd (%i: block<i> in 0 .. N) { load %x[%i + 3] }   ->   require min(1, N) * (N + 3) - 1 < M   after the kernel's `where`s
///
/// Loops without turns reach nothing: then the index counts as -1, or 0.
class LaunchBounds {
 public:
  LaunchBounds(ir::Module& module, ir::Function& function, proofs::Inside& inside)
      : module_(module), function_(function), inside_(inside) {}

  /// Whether launches check from now on that the index is inside; else nothing has changed.
  bool Add(const proofs::AccessView& view, const proofs::OpenIndex& open);

 private:
  void Require(const proofs::AccessView& view, const proofs::OpenIndex& open, Size index,
               ir::CompareKind compare, Size bound);

  ir::Module& module_;
  ir::Function& function_;
  proofs::Inside& inside_;
};

}  // namespace kdl::passes
