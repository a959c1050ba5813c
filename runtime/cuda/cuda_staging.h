// Copies between the host and a device by way of memory that the device reads and writes by itself: while it moves one piece, the
// processor brings the next. Of a stream.
#pragma once

#include <cstddef>

#include "cuda/cuda_api.h"

namespace kdl::runtime {

cu::Side HostSide(const void* memory);
cu::Side DeviceSide(const void* memory);
// The same memory from an offset on; the next row lies `pitch` bytes after.
cu::Side Behind(cu::Side side, std::size_t offset, std::size_t pitch);
// Begins it, by the way that the driver finds for the memory.
cu::Status CopyRectangle(const cu::Api& api, const cu::Copy2D& copy, cu::StreamId stream);

class CudaStaging {
 public:
  CudaStaging(const cu::Api& api, cu::StreamId stream) : api_(api), stream_(stream) {}
  // The context is the thread's, and the stream has nothing to do.
  ~CudaStaging();
  CudaStaging(const CudaStaging&) = delete;
  CudaStaging& operator=(const CudaStaging&) = delete;

  // Begins a copy; one side is the host's, of which what is read from it has been taken when this returns.
  cu::Status Copy(const cu::Copy2D& copy);
  // All copies have ended, and what they have read lies where it belongs.
  cu::Status Finish();
  // The stream has ended everything, and nobody wants what was read.
  void Forget();

 private:
  static constexpr std::size_t kSlots = 4;
  static constexpr std::size_t kSlotBytes = std::size_t{512} << 10;
  struct Slot {
    char* bytes = nullptr;
    cu::EventId moved = nullptr;
    bool is_moving = false;
    cu::Copy2D read = {};  // from here to where it belongs; no rows: it was a write
  };

  bool Open();
  cu::Status CopyChunk(const cu::Copy2D& chunk);
  cu::Status TakeSlot(Slot** slot);
  static void PutWhereItBelongs(Slot& slot);

  const cu::Api& api_;
  cu::StreamId stream_;
  char* memory_ = nullptr;
  bool is_refused_ = false;  // the system has no such memory left: the driver finds its way
  Slot slots_[kSlots];
  std::size_t next_ = 0;
};

}  // namespace kdl::runtime
