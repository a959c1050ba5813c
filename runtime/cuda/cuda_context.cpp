#include "cuda/cuda_context.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace kdl::runtime {

CudaDevice::~CudaDevice() {
  if (context == nullptr) return;
  {
    const CurrentContext current(api, context);
    queues.clear();
    EmptyPool();
    memory.reset();
    streams.reset();
  }
  api.DevicePrimaryCtxRelease_v2(id);
}

bool CudaDevice::EmptyPool() {
  const std::vector<void*> chunks = pool.Empty();
  for (void* chunk : chunks) memory->Release(AddressOf(chunk));
  return !chunks.empty();
}

cu::Status CudaDevice::Take(std::int64_t bytes, void** taken) {
  cu::Address address = 0;
  cu::Status status = memory->Take(static_cast<std::size_t>(bytes), &address);
  if (status == cu::kOutOfMemory && EmptyPool()) {
    memory->Trim();
    status = memory->Take(static_cast<std::size_t>(bytes), &address);
  }
  *taken = status == cu::kSuccess ? reinterpret_cast<void*>(address) : nullptr;
  return status;
}

int CudaDevice::Attribute(int what) const {
  int value = 0;
  api.DeviceGetAttribute(&value, what, id);
  return value;
}

std::int64_t CudaDevice::TotalBytes() const {
  std::size_t bytes = 0;
  api.DeviceTotalMem_v2(&bytes, id);
  return static_cast<std::int64_t>(bytes);
}

// Whether the status means that the context is lost, for example because of an invalid memory access or
// because the GPU is gone.
bool IsLost(cu::Status status) {
  constexpr cu::Status kLost[] = {
      46,                  // CUDA_ERROR_DEVICE_UNAVAILABLE
      214,                 // CUDA_ERROR_ECC_UNCORRECTABLE
      700, 702, 709, 710,  // illegal address, timeout, context destroyed, assertion
      714, 715, 716, 717,
      718, 719};  // 714 to 719: stack, instruction, alignment, address space, program counter, others
  return std::find(std::begin(kLost), std::end(kLost), status) != std::end(kLost);
}

Error CudaDevice::Failed(std::string_view what, cu::Status status) const {
  if (IsLost(status)) return lost.Lose(Concat("CUDA: ", what, " failed: ", api.StatusName(status)));
  const kdl_code code = status == cu::kOutOfMemory ? KDL_ERROR_OUT_OF_MEMORY : KDL_ERROR_DEVICE;
  return Fail(code, "CUDA: ", what, " failed: ", api.StatusName(status));
}

}  // namespace kdl::runtime
