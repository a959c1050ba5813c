#pragma once

#include "ir/op.h"

namespace kdl::cluster {

/// Whether a block copy moves what the access touches: a whole tile, whose elements are a box of a tensor in memory that all clusters
/// see.
bool IsStaged(const ir::Op* op);

}  // namespace kdl::cluster
