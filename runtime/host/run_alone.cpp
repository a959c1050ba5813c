#include "host/run_alone.h"

#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "core/trap.h"

namespace kdl::runtime {

namespace {

// Prepares the parts of the memory that are zero at the start, and the core that is the same in all calls.
void TakeMemory(const kdl_launch_request& request, const CoreRunner::Plan& plan, char* memory,
                kdl_core* core) {
  const kdl_variant& variant = *request.variant;
  kdl_launch& launch = *request.launch;
  launch.shared = request.shared;
  launch.dynamic_counters = nullptr;
  if (variant.dynamic_counter_count > 0) {
    launch.dynamic_counters = reinterpret_cast<std::int64_t*>(memory + plan.dynamic_counters_at);
    std::memset(memory + plan.dynamic_counters_at, 0,
                static_cast<std::size_t>(plan.states_at - plan.dynamic_counters_at));
  }
  core->size = sizeof(kdl_core);
  core->version = KDL_ABI_VERSION;
  core->core_num = request.core_num;
  core->slot = 0;
  core->scratch = variant.scratch_bytes > 0 ? memory + plan.scratch_at : nullptr;
  core->workspace = variant.footprint_bytes > 0 ? request.workspace : nullptr;
  core->frame = variant.frame_bytes > 0 ? memory + plan.frames_at : nullptr;
  ClearTrap(&core->trap);
  core->launch = &launch;
}

Error RunAll(const kdl_launch_request& request, kdl_core* core) {
  const kdl_variant& variant = *request.variant;
  const std::atomic_ref stop(request.launch->stop);
  // If each core has its own slice of the workspace, it uses that slice.
  const bool has_slices = request.instances >= request.busy_cores && variant.footprint_bytes > 0;
  for (std::int64_t at = 0; at < request.busy_cores; ++at) {
    if (stop.load(std::memory_order_relaxed) != 0) break;
    core->core_id = at;
    if (request.instances >= request.busy_cores) core->slot = at;
    if (has_slices)
      core->workspace = static_cast<char*>(request.workspace) + at * request.slice_bytes;
    if (variant.frame_bytes > 0)
      std::memset(core->frame, 0, static_cast<std::size_t>(variant.frame_bytes));
    const std::int32_t result = variant.entry(request.args, core);
    if (result != KDL_DONE) return CoreRunner::ErrorOf(request, result, core->trap);
  }
  return nullptr;
}

}  // namespace

bool RunsAlone(const kdl_launch_request& request, const CoreRunner::Plan& plan) {
  return plan.workers == 1 && request.observer == nullptr &&
         (request.variant->flags & KDL_VARIANT_SYNC) == 0;
}

Error RunAlone(const kdl_launch_request& request, const CoreRunner::Plan& plan,
               ScratchPool& scratch, char* memory) {
  alignas(KDL_SCRATCH_ALIGNMENT) char small[CoreRunner::Plan::kSmallBytes];
  ScratchPool::Block borrowed;
  if (plan.is_small()) {
    memory = small;
  } else if (memory == nullptr) {
    borrowed = scratch.Acquire(plan.bytes);
    memory = borrowed.data;
    if (memory == nullptr) return CoreRunner::OutOfMemoryFor(request, plan);
  }
  kdl_core core;
  TakeMemory(request, plan, memory, &core);
  Error error;
  try {
    error = RunAll(request, &core);
  } catch (const std::bad_alloc&) {
    error = OutOfMemory();
  }
  if (borrowed.data != nullptr) scratch.GiveBack(borrowed);
  return error;
}

}  // namespace kdl::runtime
