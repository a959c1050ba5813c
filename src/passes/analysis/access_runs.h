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

 private:
  Instances& instances_;
  const AccessView& view_;
  bool masked_;
  std::optional<PointSet> runs_;
  Instances::Names known_;  ///< variables of which runs_ says what is known
};

}  // namespace kdl::passes
