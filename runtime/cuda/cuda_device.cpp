#include "cuda/cuda_device.h"

#include <algorithm>
#include <memory>
#include <string>

#include "cuda/cuda_context.h"
#include "cuda/cuda_copies.h"
#include "cuda/cuda_facts.h"
#include "cuda/cuda_foreign.h"
#include "cuda/cuda_kernels.h"
#include "cuda/cuda_launch.h"
#include "cuda/cuda_queue.h"
#include "host/host_device.h"
#include "kdl/device_keys.h"

// A device is used through its primary context. Most launches are given to the stream of their queue when they
// are enqueued (cuda_queue.h). The runtime starts every other operation only after everything that it depends
// on has ended. Such an operation has its own stream, and its thread waits until the operation has ended.

namespace kdl::runtime {

namespace {

Error OpenDevice(std::int64_t ordinal, std::unique_ptr<CudaDevice>* opened) {
  auto device = std::make_unique<CudaDevice>();
  KDL_RETURN_IF_ERROR(cu::Api::Load(&device->api));
  int count = 0;
  device->api.DeviceGetCount(&count);
  if (ordinal >= count) return NoSuchDevice("cuda", ordinal, count);
  cu::Status status = device->api.DeviceGet(&device->id, static_cast<int>(ordinal));
  if (status != cu::kSuccess) return device->Failed("finding a device", status);
  char name[256] = {};
  device->api.DeviceGetName(name, sizeof name, device->id);
  device->name = name;
  const int level = 10 * device->Attribute(cu::kMajor) + device->Attribute(cu::kMinor);
  device->compute_level = level;
  device->arch = CudaArchsOf(level);
  device->level = Concat(level / 10, ".", level % 10);
  device->most_scratch = device->TotalBytes() / 8;
  device->multiprocessors = std::max(device->Attribute(cu::kMultiprocessors), 1);
  if (device->arch.empty()) {
    return Fail(KDL_ERROR_NOT_FOUND, "cuda[", ordinal, "], ", device->name,
                ", has compute capability ", device->level, "; 8.0 or later is needed");
  }
  status = device->api.DevicePrimaryCtxRetain(&device->context, device->id);
  if (status != cu::kSuccess) return device->Failed("creating a context", status);
  device->streams = std::make_unique<CudaStreams>(device->api);
  device->memory = std::make_unique<CudaMemory>(device->api);
  const CurrentContext current(device->api, device->context);
  status = device->memory->Open(device->id);
  if (status != cu::kSuccess) return device->Failed("creating a stream", status);
  *opened = std::move(device);
  return nullptr;
}

kdl_error* Open(void*, std::int64_t ordinal, const kdl_option* options, std::int32_t count,
                void** device) {
  if (count > 0) return UnknownOption("cuda", options[0].key, KDL_CUDA_KEYS).release();
  std::unique_ptr<CudaDevice> opened;
  if (Error error = OpenDevice(ordinal, &opened)) return error.release();
  *device = opened.release();
  return nullptr;
}

void Close(void* device) { delete static_cast<CudaDevice*>(device); }

std::int64_t Counts(void* device, kdl_count* counts, std::int64_t capacity) {
  if (capacity > 0) *counts = {KDL_COUNT_KERNEL_TIME, CudaDevice::FromHandle(device).clock.Ask()};
  return 1;
}

}  // namespace

const kdl_device_ops& CudaDeviceOps() {
  static const kdl_device_ops kOps = {.size = sizeof(kdl_device_ops),
                                      .version = KDL_PLUGIN_VERSION,
                                      .kind = "cuda",
                                      .memory = &CudaMemoryOps(),
                                      .open = Open,
                                      .close = Close,
                                      .facts = CudaFacts,
                                      .load = LoadCudaModule,
                                      .unload = UnloadCudaModule,
                                      .launch = LaunchCuda,
                                      .submit = SubmitCuda,
                                      .image_kind = "cuda",
                                      .counts = Counts,
                                      .properties = CudaProperties,
                                      .prepare = nullptr,
                                      .discard = nullptr,
                                      .cores = CudaCoresOf,
                                      .accepts = CudaAccepts,
                                      .wait = WaitCuda,
                                      .mark = MarkCudaStream,
                                      .unmark = UnmarkCuda,
                                      .lead = LeadCudaStream};
  return kOps;
}

}  // namespace kdl::runtime
