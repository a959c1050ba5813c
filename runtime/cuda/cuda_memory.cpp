#include "cuda/cuda_memory.h"

namespace kdl::runtime {

namespace {

// The pool keeps at most 1/kPartKept of the device's memory unused.
constexpr std::uint64_t kPartKept = 16;

bool HasPools(const cu::Api& api, cu::DeviceId device) {
  const bool has_functions = api.MemPoolCreate != nullptr && api.MemPoolDestroy != nullptr &&
                             api.MemPoolSetAttribute != nullptr && api.MemPoolTrimTo != nullptr &&
                             api.MemAllocFromPoolAsync != nullptr && api.MemFreeAsync != nullptr;
  int has = 0;
  return has_functions && api.DeviceGetAttribute(&has, cu::kHasPools, device) == cu::kSuccess &&
         has != 0;
}

}  // namespace

CudaMemory::~CudaMemory() {
  if (stream_ == nullptr) return;
  api_.StreamSynchronize(stream_);
  if (pool_ != nullptr) api_.MemPoolDestroy(pool_);
  api_.StreamDestroy_v2(stream_);
}

// Creates a pool for this device only, because the settings of the default pool belong to other libraries in
// the process. Other devices need no access to the pool: a copy between devices names the contexts of both
// sides.
cu::Status CudaMemory::Open(cu::DeviceId device) {
  if (!HasPools(api_, device)) return cu::kSuccess;
  const cu::Status status = api_.StreamCreate(&stream_, cu::kNonBlocking);
  if (status != cu::kSuccess) return status;
  const cu::PoolProperties properties = {.device = device};
  if (api_.MemPoolCreate(&pool_, &properties) != cu::kSuccess) pool_ = nullptr;
  std::size_t bytes = 0;
  if (pool_ == nullptr || api_.DeviceTotalMem_v2(&bytes, device) != cu::kSuccess)
    return cu::kSuccess;
  std::uint64_t kept = bytes / kPartKept;
  api_.MemPoolSetAttribute(pool_, cu::kReleaseThreshold, &kept);
  return cu::kSuccess;
}

cu::Status CudaMemory::Take(std::size_t bytes, cu::Address* address) {
  if (pool_ == nullptr) return api_.MemAlloc_v2(address, bytes);
  const std::lock_guard lock(mutex_);
  cu::Status status = api_.MemAllocFromPoolAsync(address, bytes, pool_, stream_);
  if (status != cu::kSuccess) return status;
  status = api_.StreamSynchronize(stream_);
  if (status != cu::kSuccess) api_.MemFreeAsync(*address, stream_);
  return status;
}

void CudaMemory::Release(cu::Address address) {
  if (pool_ == nullptr) {
    api_.MemFree_v2(address);
    return;
  }
  const std::lock_guard lock(mutex_);
  api_.MemFreeAsync(address, stream_);
}

void CudaMemory::Trim() {
  if (pool_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  api_.StreamSynchronize(stream_);
  api_.MemPoolTrimTo(pool_, 0);
}

}  // namespace kdl::runtime
