// Copies between the host and a device through pinned memory, for one stream. While the device moves one
// chunk, the processor copies the next.
#pragma once

#include <cstddef>

#include "cuda/cuda_api.h"

namespace kdl::runtime {

cu::Side HostSide(const void* memory);
cu::Side DeviceSide(const void* memory);
// Returns the same memory with an offset and with rows `pitch` bytes apart.
cu::Side After(cu::Side side, std::size_t offset, std::size_t pitch);
// Starts a copy, in whatever way the driver chooses for the memory.
cu::Status CopyRectangle(const cu::Api& api, const cu::Copy2D& copy, cu::StreamId stream);

class CudaStaging {
 public:
  CudaStaging(const cu::Api& api, cu::StreamId stream) : api_(api), stream_(stream) {}
  // The context must be current, and the stream idle.
  ~CudaStaging();
  CudaStaging(const CudaStaging&) = delete;
  CudaStaging& operator=(const CudaStaging&) = delete;

  // Starts a copy; one side is host memory. Data read from host memory has been copied when this returns.
  cu::Status Copy(const cu::Copy2D& copy);
  // Waits until all copies have ended and data read has arrived in the caller's memory.
  cu::Status Finish();
  // The stream must be idle. Discards data that was read.
  void Forget();

 private:
  static constexpr std::size_t kSlots = 4;
  static constexpr std::size_t kSlotBytes = std::size_t{512} << 10;
  struct Slot {
    char* bytes = nullptr;
    cu::EventId moved = nullptr;
    bool is_moving = false;
    cu::Copy2D read = {};  // the destination of a read; no rows: a write
  };

  bool Open();
  cu::Status CopyChunk(const cu::Copy2D& chunk);
  cu::Status TakeSlot(Slot** slot);
  static void PutWhereItBelongs(Slot& slot);

  const cu::Api& api_;
  cu::StreamId stream_;
  char* memory_ = nullptr;
  bool is_refused_ = false;  // no pinned memory: copies are left to the driver
  Slot slots_[kSlots];
  std::size_t next_ = 0;
};

}  // namespace kdl::runtime
