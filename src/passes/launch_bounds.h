#pragma once

#include "passes/analysis/instances.h"
#include "passes/analysis/reach.h"

namespace kdl::passes {

/// An index of an access, and where it may be outside for all that is known.
struct OpenIndex {
  size_t dim = 0;
  bool below = false;
  bool above = false;
  bool is_wrong = false;  ///< every launch that gets there takes it outside
};

/// Lets the launch check what its sizes decide: an access that is always reached, whose indices go from one sum of sizes to
/// another, is inside where these are.
///
///   spmd (%i: blk<i> in 0 .. N) { load %x[%i + 3] }   ->   require min(1, N) * (N + 3) - 1 < M   behind the kernel's `where`s
///
/// Loops without turns reach nothing: then the index counts as -1, or 0.
class LaunchBounds {
 public:
  LaunchBounds(ir::Module& module, ir::Function& function, Instances& instances)
      : module_(module),
        function_(function),
        instances_(instances),
        terms_(instances.terms()),
        reach_(terms_) {}

  /// Whether launches check from now on that the index is inside; else nothing has changed.
  bool Add(const AccessView& view, const OpenIndex& open);

 private:
  std::optional<Size> SizeOf(const Poly& poly);
  std::optional<Size> AnyTurn(const AccessView& view);
  void Require(const AccessView& view, const OpenIndex& open, Size index, ir::CompareKind compare,
               Size bound);

  ir::Module& module_;
  ir::Function& function_;
  Instances& instances_;
  Terms& terms_;
  Reach reach_;
};

}  // namespace kdl::passes
