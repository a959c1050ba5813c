#pragma once

#include <cstdint>
#include <unordered_map>

#include "ir/module.h"

namespace kdl::codegen {

/// On the stack, in the core's scratch, or where its block has a barrier in the core's frame.
enum class BufferSpace : uint8_t { Stack, Scratch, Frame };
struct BufferPlace {
  BufferSpace space = BufferSpace::Scratch;
  int64_t offset = 0;  ///< in scratch or frame, a multiple of KDL_SCRATCH_ALIGNMENT
  int64_t bytes = 0;
};

/// The buffers of a kernel. A buffer lives as long as the block that makes it runs; those whose
/// times cannot overlap share memory. What lives while other stages run is not on the stack.
struct ScratchPlan {
  std::unordered_map<const ir::Value*, BufferPlace> places;
  int64_t scratch_bytes = 0;
  int64_t frame_bytes = 0;  ///< besides what the barriers themselves take; 0 where there are none
};

ScratchPlan PlanScratch(const ir::Function& kernel);

}  // namespace kdl::codegen
