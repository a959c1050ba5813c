#pragma once

#include <unordered_map>
#include <vector>

#include "ir/op.h"

namespace kdl::cluster {

/// Whether a block copy moves what the access touches: a whole tile, whose elements are a box of a tensor in memory that all clusters
/// see.
bool IsStaged(const ir::Op* op);

/// Staged loads, of which a block needs equal ones of what the kernel cannot change but once.
class StagedLoads {
 public:
  /// One that has the same elements and stands before `load` in its block; null: there is none, and `load` is it from now on.
  ir::Op* Find(ir::Op* load);

 private:
  std::unordered_map<const ir::Region*, std::vector<ir::Op*>> loads_;
};

}  // namespace kdl::cluster
