// Copies between the host and a device through pinned memory, for one stream. While the device moves a chunk,
// the processor copies the next chunk.
#pragma once

#include <cstddef>

#include "cuda/cuda_api.h"

namespace kdl::runtime {

cu::Side HostSide(const void* memory);
cu::Side DeviceSide(const void* memory);
// Returns the memory of `side`, starting at an offset, with rows that are `pitch` bytes apart.
cu::Side After(cu::Side side, std::size_t offset, std::size_t pitch);
// Starts a copy. The driver chooses the method, depending on the kind of memory.
cu::Status CopyRectangle(const cu::Api& api, const cu::Copy2D& copy, cu::StreamId stream);

class CudaStaging {
 public:
  CudaStaging(const cu::Api& api, cu::StreamId stream) : api_(api), stream_(stream) {}
  // The context must be current, and the stream must be idle.
  ~CudaStaging();
  CudaStaging(const CudaStaging&) = delete;
  CudaStaging& operator=(const CudaStaging&) = delete;

  // Starts a copy. One side must be host memory. If the copy reads host memory, the caller may reuse that
  // memory as soon as this returns.
  cu::Status Copy(const cu::Copy2D& copy);
  // Waits until all copies have ended and all data has arrived in the caller's memory.
  cu::Status Finish();
  // Discards data that was copied to pinned memory but has not been passed on to the caller. The stream must
  // be idle.
  void Forget();

 private:
  static constexpr std::size_t kSlots = 4;
  static constexpr std::size_t kSlotBytes = std::size_t{512} << 10;
  struct Slot {
    char* bytes = nullptr;
    cu::EventId moved = nullptr;
    bool is_moving = false;
    // The destination of a read; it has no rows if the slot is used for a write.
    cu::Copy2D read = {};
  };

  bool Open();
  cu::Status CopyChunk(const cu::Copy2D& chunk);
  cu::Status TakeSlot(Slot** slot);
  static void PutWhereItBelongs(Slot& slot);

  const cu::Api& api_;
  cu::StreamId stream_;
  char* memory_ = nullptr;
  bool is_refused_ = false;  // there is no pinned memory, so copies are left to the driver
  Slot slots_[kSlots];
  std::size_t next_ = 0;
};

}  // namespace kdl::runtime
