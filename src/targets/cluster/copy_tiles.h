#pragma once

#include <unordered_map>
#include <vector>

#include "ir/op.h"

namespace kdl::cluster {

/// Whether a block copy can replace this load or store. The op must access a whole tile that is a rectangular
/// region of a tensor, in memory that all clusters can access.
bool IsStaged(const ir::Op* op);

/// Finds duplicates among the loads that block copies can replace. If several loads in a region read the same
/// elements, and the kernel cannot change them, one copy suffices.
class StagedLoads {
 public:
  /// Returns an earlier load of the same elements in the same region. If there is none, remembers `load` and
  /// returns null.
  ir::Op* Find(ir::Op* load);

 private:
  std::unordered_map<const ir::Region*, std::vector<ir::Op*>> loads_;
};

}  // namespace kdl::cluster
