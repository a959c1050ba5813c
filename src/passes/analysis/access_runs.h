#pragma once

#include <optional>

#include "passes/analysis/instances.h"

namespace kdl::passes {

/// The runs of an access: of launches that are not refused, in turns of the loops around it, branches that are taken and, if
/// it is asked, at points where its mask holds. What is shown of all of them is a proof.
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
