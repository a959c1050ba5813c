// Copies between the host and a device with memory of its own, through pinned memory. While the device moves
// one chunk, the processor copies the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "opencl/cl_api.h"

namespace kdl::runtime {

// A copy between rows in host memory and a place in a buffer.
struct OpenclCopy {
  bool reads;  // from the buffer
  char* host;  // not modified unless `reads`
  std::size_t host_pitch;
  cl::MemoryId buffer;
  std::size_t offset;
  std::size_t pitch;
  std::size_t bytes;  // the length of a row
  std::size_t rows;
};

// Starts the copy. Stores the event of its end in `event`, unless that is null.
std::int32_t EnqueueCopy(const cl::Api& api, cl::QueueId queue, const OpenclCopy& copy,
                         cl::EventId* event);

// The pinned memory of a device. Only one operation may use it at a time.
class OpenclStaging {
 public:
  // `queue` refers to the device's queue, which may be replaced between copies.
  OpenclStaging(const cl::Api& api, cl::ContextId context, const cl::QueueId& queue)
      : api_(api), context_(context), queue_(queue) {}
  ~OpenclStaging();
  OpenclStaging(const OpenclStaging&) = delete;
  OpenclStaging& operator=(const OpenclStaging&) = delete;

  // Starts a copy. Data read from host memory has been copied when this returns.
  std::int32_t Copy(const OpenclCopy& copy);
  // The queue must be idle. Moves data that was read to its destination if `went_well`.
  void Settle(bool went_well);

 private:
  static constexpr std::size_t kSlots = 4;
  static constexpr std::size_t kSlotBytes = std::size_t{512} << 10;
  struct Slot {
    char* bytes = nullptr;
    cl::EventId moved = nullptr;  // null: no copy in progress
    OpenclCopy read = {};         // the destination of a read; no rows: a write
  };

  bool Open();
  std::int32_t CopyChunk(const OpenclCopy& chunk);
  std::int32_t TakeSlot(Slot** slot);
  void Free(Slot& slot, bool went_well);

  const cl::Api& api_;
  cl::ContextId context_;
  const cl::QueueId& queue_;
  cl::MemoryId memory_ = nullptr;
  bool is_refused_ = false;  // no pinned memory: copies are left to the driver
  std::array<Slot, kSlots> slots_;
  std::size_t next_ = 0;
};

}  // namespace kdl::runtime
