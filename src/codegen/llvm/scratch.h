#pragma once

#include <cstdint>
#include <unordered_map>

#include "ir/module.h"

namespace kdl::codegen {

/// Where a buffer lies: on the stack, or in the core's scratch.
struct BufferPlace {
  bool on_stack = false;
  int64_t offset = 0;  ///< in scratch, a multiple of KDL_SCRATCH_ALIGNMENT
  int64_t bytes = 0;
};

/// The buffers of a kernel. A buffer lives as long as the block that makes it runs; those whose
/// times cannot overlap share memory. What lives while other stages run is not on the stack.
struct ScratchPlan {
  std::unordered_map<const ir::Value*, BufferPlace> places;
  int64_t scratch_bytes = 0;
};

ScratchPlan PlanScratch(const ir::Function& kernel);

}  // namespace kdl::codegen
