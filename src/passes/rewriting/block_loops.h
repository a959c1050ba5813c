#pragma once

#include "ir/builder.h"
#include "ir/busy_cores.h"
#include "passes/names.h"

namespace kdl::passes {

/// The range `lo` .. `hi`, split into blocks of one size. Creates ops that compute the number of blocks, and
/// the operands of make_block for each block. The results are exact for every `lo` and `hi`.
class BlockRange {
 public:
  /// `size` must be a positive i64.
  BlockRange(ir::Builder& builder, ir::Value* lo, ir::Value* hi, ir::Value* size);

  /// Returns the number of blocks in the range; 0 if hi <= lo.
  ir::Value* Count();
  /// Returns the number of elements in the range; 0 if hi <= lo.
  ir::Value* Length() { return IfAny(AsI64(Distance(lo_, hi_))); }
  /// Returns the start of block `index`.
  ir::Value* Start(ir::Value* index);
  /// Returns the number of elements in the block at `start`, which may be the last one.
  ir::Value* SizeAt(ir::Value* start);
  ir::Value* BlockIndex(ir::Value* start);

 private:
  ir::Value* Size() { return builder_->Cast(size_, scalar_); }
  ir::Value* IfAny(ir::Value* number);
  ir::Value* Int(int64_t value) { return builder_->Int(scalar_, value); }
  ir::Value* AsI64(ir::Value* value) { return builder_->Cast(value, Scalar::I64); }
  ir::Value* Distance(ir::Value* from, ir::Value* to);

  ir::Builder* builder_;
  ir::Value* lo_;
  ir::Value* hi_;
  ir::Value* size_;
  Scalar scalar_;
};

// These functions make loops over block numbers to replace `spmd` and `for`. Afterwards, the builder inserts
// into the new loop's region.

/// Makes a loop that replaces `op` and carries the same values.
ir::Op* MakeLoopInPlace(ir::Builder& b, ir::Op* op, ir::Value* lo, ir::Value* hi, ir::Value* step);

/// The range of blocks, out of `total`, that one core runs. All cores get the same number of blocks, except
/// that the first cores may each get one more.
struct CoreShare {
  ir::Value* begin;
  ir::Value* end;
};
CoreShare CoreShareOf(ir::Builder& b, ir::Value* core, ir::Value* total, ir::Value* core_num);

/// Makes a loop that replaces `op` and runs over a core's share of `total` blocks.
ir::Op* MakeShareLoop(ir::Builder& b, ir::Op* op, ir::Value* core, ir::Value* total,
                      ir::Value* core_num);

/// Adds ops at the start of the kernel that state the largest number of blocks of each `spmd`. With them, a
/// launch leaves out cores that would have no blocks. Adds the ops only if cores do nothing outside of these
/// loops.
void StateBusyCores(ir::Builder& b, ir::Function& kernel, const ir::LeastLength& least_length);

/// Returns the extent of a loop variable's blocks, or 1 if the variable is a number. The extent must be a
/// constant, so select-tiles must have run before.
int64_t BlockExtent(const ir::Function& kernel, const ir::Value* binder);

}  // namespace kdl::passes
