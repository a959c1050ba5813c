#include "kernel.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "memory.h"

namespace sample {

namespace {

struct Free {
  void operator()(char* block) const { std::free(block); }
};
using Block = std::unique_ptr<char, Free>;

Block ZeroBlock(std::int64_t bytes) {
  Block block(static_cast<char*>(AllocateBlock(bytes + 1)));
  if (block == nullptr) throw std::bad_alloc();
  std::memset(block.get(), 0, static_cast<std::size_t>(bytes));
  return block;
}

std::int64_t RoundUp(std::int64_t bytes) {
  return (bytes + KDL_SCRATCH_ALIGNMENT - 1) / KDL_SCRATCH_ALIGNMENT * KDL_SCRATCH_ALIGNMENT;
}

// The memory that the cores of a launch use, and the launch's arguments with device addresses converted to
// addresses of this process.
struct Bound {
  explicit Bound(const kdl_launch_request& request)
      : tensors(request.args->tensors, request.args->tensors + request.tensor_count),
        args(*request.args),
        dynamic_counters(static_cast<std::size_t>(request.variant->dynamic_counter_count)),
        frame_bytes(RoundUp(request.variant->frame_bytes)),
        frames(ZeroBlock(frame_bytes * request.core_num)),
        scratch(ZeroBlock(request.variant->scratch_bytes)),
        workspace(static_cast<char*>(FromDevice(request.workspace))) {
    for (kdl_tensor& tensor : tensors) tensor.data = FromDevice(tensor.data);
    args.tensors = tensors.data();
    request.launch->dynamic_counters = dynamic_counters.data();
    request.launch->shared = FromDevice(request.shared);
  }

  std::vector<kdl_tensor> tensors;
  kdl_args args;
  std::vector<std::int64_t> dynamic_counters;
  std::int64_t frame_bytes;
  Block frames;
  Block scratch;
  char* workspace;
};

bool IsStopped(const kdl_launch_request& request) {
  return std::atomic_ref(request.launch->stop).load() != 0;
}

// Calls the kernel for one core.
std::int32_t CallCore(const kdl_launch_request& request, const Bound& bound, std::int64_t id,
                      kdl_core* core) {
  const kdl_variant& variant = *request.variant;
  *core = {};
  core->size = sizeof *core;
  core->version = KDL_ABI_VERSION;
  core->core_id = id;
  core->core_num = request.core_num;
  // If there are fewer slices of workspace than cores, all cores use slice 0, because they run one at a time.
  core->slot = request.instances >= request.busy_cores ? id : 0;
  core->launch = request.launch;
  if (variant.scratch_bytes > 0) core->scratch = bound.scratch.get();
  if (variant.frame_bytes > 0) core->frame = bound.frames.get() + id * bound.frame_bytes;
  if (variant.footprint_bytes > 0)
    core->workspace = bound.workspace + core->slot * request.slice_bytes;
  return variant.entry(&bound.args, core);
}

}  // namespace

kdl_error* RunKernel(const kdl_plugin_host& host, const kdl_launch_request& request) {
  const Bound bound(request);
  std::vector<bool> done(static_cast<std::size_t>(request.busy_cores));
  bool at_barrier = true;
  while (at_barrier && !IsStopped(request)) {
    at_barrier = false;
    for (std::int64_t id = 0; id < request.busy_cores && !IsStopped(request); ++id) {
      const auto index = static_cast<std::size_t>(id);
      if (done[index]) continue;
      kdl_core core;
      const std::int32_t result = CallCore(request, bound, id, &core);
      if (result < 0) return host.error_from_trap(request.kernel, request.variant, &core.trap);
      done[index] = result == KDL_DONE;
      at_barrier |= !done[index];
    }
  }
  // A stopped launch reports an error, so that operations that wait for it do not start.
  return IsStopped(request) ? host.error_create(KDL_ERROR_CANCELLED, "the launch was stopped")
                            : nullptr;
}

}  // namespace sample
