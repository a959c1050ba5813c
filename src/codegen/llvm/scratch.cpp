#include "codegen/llvm/scratch.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "ir/op.h"
#include "ir/op_info.h"
#include "ir/type.h"
#include "kdl/kernel_abi.h"
#include "support/check.h"
#include "support/scalar.h"
#include "support/size.h"

namespace kdl::codegen {

namespace {

constexpr int64_t kStackBytes = 4096;  // limit on the total size of a kernel's stack buffers
// The limit on the size of one stack buffer: 64 lanes.
constexpr int64_t kStackBufferBytes = int64_t{64} * 8;

int64_t BufferBytes(ir::Type type) {
  int64_t bytes = Bytes(type->scalar);
  for (Size extent : type->dims) {
    KDL_CHECK(IsConstant(extent) && extent->value >= 0,
              "the extent {} of a buffer is not a constant", ToString(extent));
    bool overflow = __builtin_mul_overflow(bytes, extent->value, &bytes);
    KDL_CHECK(!overflow && bytes < (int64_t{1} << 40), "a buffer of 2^40 bytes or more");
  }
  return bytes;
}

/// Returns whether the region contains an op with the trait. Other stages may run during a region that has
/// kSuspends; a region that has kSyncs contains a barrier.
bool Has(const ir::Region* region, ir::Trait trait) {
  bool found = false;
  ir::Walk(region, [&](const ir::Op* op) { found |= op->info().has(trait); });
  return found;
}

/// Reserves `bytes`, rounded up to the alignment, at offset `top`. Advances `top` and returns the old offset.
int64_t TakeBytes(int64_t bytes, int64_t& top) {
  constexpr int64_t kAlign = KDL_SCRATCH_ALIGNMENT;
  int64_t begin = top;
  top += (bytes + kAlign - 1) / kAlign * kAlign;
  return begin;
}

class Planner {
 public:
  /// Places the buffers of a region. Scratch memory from offset `top` on is free when the region starts.
  void Place(const ir::Region* region, int64_t top) {
    auto makes_buffer = [](const ir::Op* op) { return op->kind() == ir::OpKind::BufferNew; };
    // A region may have many buffers, so its ops are visited only once for all of them.
    bool has_buffers = false;
    for (const ir::Op* op : *region) has_buffers |= makes_buffer(op);
    bool syncs = has_buffers && Has(region, ir::kSyncs);
    bool suspends = has_buffers && Has(region, ir::kSuspends);
    for (const ir::Op* op : *region) {
      for (const ir::Region* nested : op->regions()) Place(nested, top);
      if (op->kind() == ir::OpKind::Stage) top = plan_.scratch_bytes;  // stages overlap in time
      if (!makes_buffer(op)) continue;
      BufferPlace place;
      place.bytes = BufferBytes(op->result()->type());
      bool small = place.bytes <= kStackBufferBytes && stack_used_ + place.bytes <= kStackBytes;
      if (syncs) {
        place.space = BufferSpace::Frame;
        place.offset = TakeBytes(place.bytes, plan_.frame_bytes);
      } else if (small && !suspends) {
        place.space = BufferSpace::Stack;
        stack_used_ += place.bytes;
      } else {
        place.offset = TakeBytes(place.bytes, top);
        plan_.scratch_bytes = std::max(plan_.scratch_bytes, top);
      }
      plan_.places.emplace(op->result(), place);
    }
  }

  ScratchPlan Take() { return std::move(plan_); }

 private:
  ScratchPlan plan_;
  int64_t stack_used_ = 0;
};

}  // namespace

ScratchPlan PlanScratch(const ir::Function& kernel) {
  Planner planner;
  planner.Place(kernel.body, 0);
  return planner.Take();
}

}  // namespace kdl::codegen
