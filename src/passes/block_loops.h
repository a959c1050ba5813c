#pragma once

#include "ir/builder.h"
#include "passes/names.h"

namespace kdl::passes {

// Loops over numbers of blocks, in place of `spmd` and `for`. The builder stands in the new loop's region when it is made.

/// A loop in place of `op`, which its carried values pass through as before.
ir::Op* MakeLoopInPlace(ir::Builder& b, ir::Op* op, ir::Value* lo, ir::Value* hi, ir::Value* step);

/// Which of `total` blocks are a core's: all cores have as many, the first ones one more.
struct CoreShare {
  ir::Value* begin;
  ir::Value* end;
};
CoreShare ShareOf(ir::Builder& b, ir::Value* core, ir::Value* total, ir::Value* core_num);

/// A loop in place of `op` over a core's blocks, of `total`.
ir::Op* MakeShareLoop(ir::Builder& b, ir::Op* op, ir::Value* core, ir::Value* total,
                      ir::Value* core_num);

/// The extent of a binder's blocks, which select-tiles has made constant; 1 of a binder that is a number.
int64_t BlockExtent(const ir::Function& kernel, const ir::Value* binder);

}  // namespace kdl::passes
