#pragma once

#include <optional>

#include "passes/analysis/instances.h"

namespace kdl::passes {

/// The runs of an access, asked what surely holds in each of them: what holds of no launch that is not refused, loops around
/// it that have no turn, branches that are not taken and points that its mask leaves out, counts as holding.
class AccessRuns {
 public:
  AccessRuns(Instances& instances, const AccessView& view, bool masked = true)
      : instances_(instances), view_(view), masked_(masked) {}

  bool Always(const Poly& a, ir::CompareKind compare, const Poly& b);
  /// 0 <= index < size; with products of sizes in both, of what the sizes multiply.
  bool AlwaysInside(const Poly& index, const Poly& size);

 private:
  Instances& instances_;
  const AccessView& view_;
  bool masked_;
  std::optional<PointSet> runs_;
};

}  // namespace kdl::passes
