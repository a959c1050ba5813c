#pragma once

#include "ir/builder.h"
#include "ir/busy_cores.h"
#include "passes/names.h"

namespace kdl::passes {

/// lo .. hi in blocks of one size: how many there are, and make_block's facts for each. Exact for every lo and hi.
class BlockRange {
 public:
  /// `size` is an i64 above 0.
  BlockRange(ir::Builder& builder, ir::Value* lo, ir::Value* hi, ir::Value* size);

  /// Blocks in the range; 0 where hi <= lo.
  ir::Value* Count();
  /// Elements in the range; 0 where hi <= lo.
  ir::Value* Length() { return IfAny(AsI64(Distance(lo_, hi_))); }
  /// Where block `index` starts.
  ir::Value* Start(ir::Value* index);
  /// The elements of the block at `start` that exist.
  ir::Value* SizeAt(ir::Value* start);
  ir::Value* IndexOf(ir::Value* start);

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

/// States, at the kernel's beginning, how many blocks each `spmd` has at most, where that is all that its cores do: launches leave
/// out the cores that have none.
void StateBusyCores(ir::Builder& b, ir::Function& kernel, const ir::LeastLength& least_length);

/// The extent of a binder's blocks, which select-tiles has made constant; 1 of a binder that is a number.
int64_t BlockExtent(const ir::Function& kernel, const ir::Value* binder);

}  // namespace kdl::passes
