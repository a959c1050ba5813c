// Copies through pinned memory between the host and a device that has its own memory. While the device moves
// a chunk, the processor copies the next chunk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "opencl/cl_api.h"

namespace kdl::runtime {

// A copy between rows in host memory and a position in a buffer.
struct OpenclCopy {
  bool reads;  // whether the copy reads from the buffer
  char* host;  // host memory, which is modified only if `reads`
  std::size_t host_pitch;
  cl::MemoryId buffer;
  std::size_t offset;
  std::size_t pitch;
  std::size_t bytes;  // length of a row
  std::size_t rows;
};

// Starts the copy. Stores its event in `event`, unless `event` is null.
std::int32_t EnqueueCopy(const cl::Api& api, cl::QueueId queue, const OpenclCopy& copy,
                         cl::EventId* event);

// The pinned memory of a device. Only one operation may use it at a time.
class OpenclStaging {
 public:
  // `queue` refers to the device's queue variable, since the queue may be replaced between copies.
  OpenclStaging(const cl::Api& api, cl::ContextId context, const cl::QueueId& queue)
      : api_(api), context_(context), queue_(queue) {}
  ~OpenclStaging();
  OpenclStaging(const OpenclStaging&) = delete;
  OpenclStaging& operator=(const OpenclStaging&) = delete;

  // Starts a copy. If the copy reads host memory, the caller may reuse that memory as soon as this returns.
  std::int32_t Copy(const OpenclCopy& copy);
  // Ends all copies. If `went_well`, passes data that was copied from the device on to its destination. The
  // queue must be idle.
  void Settle(bool went_well);

 private:
  static constexpr std::size_t kSlots = 4;
  static constexpr std::size_t kSlotBytes = std::size_t{512} << 10;
  struct Slot {
    char* bytes = nullptr;
    cl::EventId moved = nullptr;  // null if no copy is in progress
    // The destination of a read; it has no rows if the slot is used for a write.
    OpenclCopy read = {};
  };

  bool Open();
  std::int32_t CopyChunk(const OpenclCopy& chunk);
  std::int32_t TakeSlot(Slot** slot);
  void Free(Slot& slot, bool went_well);

  const cl::Api& api_;
  cl::ContextId context_;
  const cl::QueueId& queue_;
  cl::MemoryId memory_ = nullptr;
  bool is_refused_ = false;  // there is no pinned memory, so copies are left to the driver
  std::array<Slot, kSlots> slots_;
  std::size_t next_ = 0;
};

}  // namespace kdl::runtime
