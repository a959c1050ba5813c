#pragma once

#include <cstdint>
#include <unordered_map>

#include "ir/module.h"

namespace kdl::codegen {

/// Where a buffer is: on the stack, in the core's scratch, or, if its region contains a barrier, in the
/// core's frame.
enum class BufferSpace : uint8_t { Stack, Scratch, Frame };
struct BufferPlace {
  BufferSpace space = BufferSpace::Scratch;
  int64_t offset = 0;  ///< in scratch or frame, a multiple of KDL_SCRATCH_ALIGNMENT
  int64_t bytes = 0;
};

/// The places of a kernel's buffers. A buffer lives while the region that creates it runs. Buffers that never
/// live at the same time share memory. Buffers that live while other stages run are not on the stack.
struct ScratchPlan {
  std::unordered_map<const ir::Value*, BufferPlace> places;
  int64_t scratch_bytes = 0;
  int64_t frame_bytes = 0;  ///< without the header; 0 if there are no barriers
};

ScratchPlan PlanScratch(const ir::Function& kernel);

}  // namespace kdl::codegen
