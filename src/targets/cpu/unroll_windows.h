#pragma once

#include "ir/op.h"
#include "passes/pass_manager.h"

namespace kdl::cpu {

/// Whether the pass unroll-windows unrolls the reduction, so that it becomes a part of an elementwise loop.
bool IsUnrolled(const passes::PassContext& context, const ir::Op* reduction);

}  // namespace kdl::cpu
