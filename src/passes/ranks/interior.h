#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "passes/ranks/launch_axes.h"
#include "passes/ranks/launch_code.h"
#include "passes/ranks/rank_ops.h"
#include "proofs/proofs.h"

namespace kdl::passes {

/// The indices at the ends of a rank's part of an axis whose blocks may need elements of other ranks.
struct Margins {
  int64_t before = 0;
  int64_t after = 0;
};

/// Returns the margins along each axis of a launch in which the ranks have these parts, or nothing if any block may need
/// elements of others, or if ranks own several parts. `needs` must not contain what the ranks own.
std::optional<std::vector<Margins>> MarginsOf(const std::vector<RankNeed>& needs,
                                              const std::vector<LaunchAxis>& axes,
                                              const std::vector<proofs::KernelPart>& parts);

/// The part of a rank, divided into its interior, whose blocks need nothing of others, and the rest.
class DividedPart {
 public:
  /// Creates the ops that compute the interior of `owned`, which is not empty.
  DividedPart(ir::Builder& b, const std::vector<LaunchAxis>& axes,
              const std::vector<Margins>& margins, std::vector<PartValues> owned);

  const std::vector<PartValues>& interior() const { return interior_; }
  /// Returns disjoint boxes that contain the rest. They may be empty.
  std::vector<std::vector<PartValues>> Rest() const;

 private:
  std::vector<PartValues> owned_;
  std::vector<PartValues> interior_;
};

}  // namespace kdl::passes
