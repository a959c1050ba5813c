#include "cuda/cuda_foreign.h"

#include "core/text.h"
#include "cuda/cuda_context.h"

namespace kdl::runtime {

namespace {

Error CheckMemory(const CudaDevice& cuda, const void* address) {
  if (cuda.api.PointerGetAttribute == nullptr) return nullptr;  // an older driver
  int type = 0;
  const cu::Status status =
      cuda.api.PointerGetAttribute(&type, cu::kMemoryType, AddressOf(address));
  if (status != cu::kSuccess || type != cu::kDeviceMemory) {
    return Fail(KDL_ERROR_UNSUPPORTED, "the address ", reinterpret_cast<std::uintptr_t>(address),
                " is not in the memory of a GPU; copy the data to cuda[", cuda.id, "]");
  }
  int ordinal = 0;
  if (cuda.api.PointerGetAttribute(&ordinal, cu::kOrdinal, AddressOf(address)) != cu::kSuccess ||
      ordinal == cuda.id)
    return nullptr;
  return Invalid("the address ", reinterpret_cast<std::uintptr_t>(address),
                 " is in the memory of cuda[", ordinal, "]; copy the data to cuda[", cuda.id, "]");
}

}  // namespace

kdl_error* AdoptCudaMemory(void* device, void* address, std::int64_t, kdl_memory* memory) {
  const CudaDevice& cuda = CudaDevice::FromHandle(device);
  const CurrentContext current(cuda.api, cuda.context);
  if (Error error = CheckMemory(cuda, address)) return error.release();
  *memory = {address, address};
  return nullptr;
}

// A mark is an event.
kdl_error* MarkCudaStream(void* device, void* stream, void** mark) {
  const CudaDevice& cuda = CudaDevice::FromHandle(device);
  const CurrentContext current(cuda.api, cuda.context);
  auto* const id = static_cast<cu::StreamId>(stream);
  if (cuda.api.StreamQuery != nullptr && cuda.api.StreamQuery(id) == cu::kSuccess) return nullptr;
  cu::EventId event = nullptr;
  cu::Status status = cuda.api.EventCreate(&event, cu::kNoTiming);
  if (status == cu::kSuccess) status = cuda.api.EventRecord(event, id);
  if (status == cu::kSuccess) {
    *mark = event;
    return nullptr;
  }
  if (event != nullptr) cuda.api.EventDestroy_v2(event);
  return cuda.Failed("noting what a stream contains", status).release();
}

void UnmarkCuda(void* device, void* mark) {
  const CudaDevice& cuda = CudaDevice::FromHandle(device);
  const CurrentContext current(cuda.api, cuda.context);
  cuda.api.EventDestroy_v2(static_cast<cu::EventId>(mark));
}

}  // namespace kdl::runtime
