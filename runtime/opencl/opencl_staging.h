// Copies between the host and a device with memory of its own, by way of memory that the device reads and writes by itself: while it
// moves one piece, the processor brings the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "opencl/cl_api.h"

namespace kdl::runtime {

// Rows of the host's memory, and where in a buffer they belong or come from.
struct OpenclCopy {
  bool reads;  // from the buffer
  char* host;  // only read where it does not
  std::size_t host_pitch;
  cl::MemoryId buffer;
  std::size_t offset;
  std::size_t pitch;
  std::size_t bytes;  // of a row
  std::size_t rows;
};

// Begins it; `event`, where it is not null, becomes its end.
std::int32_t EnqueueCopy(const cl::Api& api, cl::QueueId queue, const OpenclCopy& copy,
                         cl::EventId* event);

// One operation at a time uses it.
class OpenclStaging {
 public:
  // `queue` is the device's, whichever it has when something is copied.
  OpenclStaging(const cl::Api& api, cl::ContextId context, const cl::QueueId& queue)
      : api_(api), context_(context), queue_(queue) {}
  ~OpenclStaging();
  OpenclStaging(const OpenclStaging&) = delete;
  OpenclStaging& operator=(const OpenclStaging&) = delete;

  // Begins it; what is read from the host has been taken when this returns.
  std::int32_t Copy(const OpenclCopy& copy);
  // The queue has ended everything. What was read goes where it belongs, if all went well.
  void Settle(bool went_well);

 private:
  static constexpr std::size_t kSlots = 4;
  static constexpr std::size_t kSlotBytes = std::size_t{512} << 10;
  struct Slot {
    char* bytes = nullptr;
    cl::EventId moved = nullptr;  // null: nothing moves
    OpenclCopy read = {};         // from here to where it belongs; no rows: it was a write
  };

  bool Open();
  std::int32_t CopyChunk(const OpenclCopy& chunk);
  std::int32_t TakeSlot(Slot** slot);
  void Free(Slot& slot, bool went_well);

  const cl::Api& api_;
  cl::ContextId context_;
  const cl::QueueId& queue_;
  cl::MemoryId memory_ = nullptr;
  bool is_refused_ = false;  // the driver has no such memory left: it finds its way
  std::array<Slot, kSlots> slots_;
  std::size_t next_ = 0;
};

}  // namespace kdl::runtime
