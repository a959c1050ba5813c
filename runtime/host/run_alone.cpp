#include "host/run_alone.h"

#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "core/trap.h"

namespace kdl::runtime {

bool RunsAlone(const kdl_launch_request& request, const CoreRunner::Plan& plan) {
  return plan.workers == 1 && request.observer == nullptr &&
         (request.variant->flags & KDL_VARIANT_SYNC) == 0;
}

LoneCore::LoneCore(const kdl_launch_request& request, const CoreRunner::Plan& plan, char* memory)
    : has_slices_(request.instances >= request.busy_cores) {
  const kdl_variant& variant = *request.variant;
  kdl_launch& launch = *request.launch;
  launch.shared = request.shared;
  launch.dynamic_counters = nullptr;
  if (variant.dynamic_counter_count > 0) {
    launch.dynamic_counters = reinterpret_cast<std::int64_t*>(memory + plan.dynamic_counters_at);
    counter_bytes_ = static_cast<std::size_t>(plan.states_at - plan.dynamic_counters_at);
  }
  core_.size = sizeof(kdl_core);
  core_.version = KDL_ABI_VERSION;
  core_.core_id = 0;
  core_.core_num = request.core_num;
  core_.slot = 0;
  core_.scratch = variant.scratch_bytes > 0 ? memory + plan.scratch_at : nullptr;
  core_.workspace = variant.footprint_bytes > 0 ? request.workspace : nullptr;
  core_.frame = variant.frame_bytes > 0 ? memory + plan.frames_at : nullptr;
  ClearTrap(&core_.trap);
  core_.launch = &launch;
}

Error LoneCore::RunCores(const kdl_launch_request& request) {
  const kdl_variant& variant = *request.variant;
  const std::atomic_ref stop(request.launch->stop);
  if (counter_bytes_ > 0) std::memset(request.launch->dynamic_counters, 0, counter_bytes_);
  for (std::int64_t at = 0; at < request.busy_cores; ++at) {
    if (stop.load(std::memory_order_relaxed) != 0) break;
    core_.core_id = at;
    if (has_slices_) {
      core_.slot = at;
      if (variant.footprint_bytes > 0)
        core_.workspace = static_cast<char*>(request.workspace) + at * request.slice_bytes;
    }
    if (variant.frame_bytes > 0)
      std::memset(core_.frame, 0, static_cast<std::size_t>(variant.frame_bytes));
    const std::int32_t result = variant.entry(request.args, &core_);
    if (result != KDL_DONE) return Ended(request, result);
  }
  return nullptr;
}

Error LoneCore::Ended(const kdl_launch_request& request, std::int32_t result) {
  Error error;
  try {
    error = CoreRunner::ErrorOf(request, result, core_.trap);
  } catch (const std::bad_alloc&) {
    error = OutOfMemory();
  }
  ClearTrap(&core_.trap);
  return error;
}

Error RunAlone(const kdl_launch_request& request, const CoreRunner::Plan& plan,
               ScratchPool& scratch) {
  alignas(KDL_SCRATCH_ALIGNMENT) char small[CoreRunner::Plan::kSmallBytes];
  if (plan.is_small()) return LoneCore(request, plan, small).RunCores(request);
  const ScratchPool::Block borrowed = scratch.Acquire(plan.bytes);
  if (borrowed.data == nullptr) return CoreRunner::OutOfMemoryFor(request, plan);
  Error error = LoneCore(request, plan, borrowed.data).RunCores(request);
  scratch.GiveBack(borrowed);
  return error;
}

}  // namespace kdl::runtime
