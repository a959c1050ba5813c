#pragma once

#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

/// Makes the tensor with its last two dimensions combined. It may only be used where its rows adjoin.
ir::Value* JoinRows(ir::Builder& b, ir::Value* tensor);
/// Emits whether the rows of all these old tensors adjoin, as a bool.
ir::Value* DoRowsAdjoin(Expander& e, const std::vector<ir::Value*>& tensors);

}  // namespace kdl::cpu
