#include "opencl/opencl_staging.h"

#include <algorithm>
#include <cstring>

namespace kdl::runtime {

namespace {

void CopyRows(char* to, std::size_t to_pitch, const char* from, std::size_t from_pitch,
              const OpenclCopy& copy) {
  for (std::size_t row = 0; row < copy.rows; ++row)
    std::memcpy(to + row * to_pitch, from + row * from_pitch, copy.bytes);
}

// Returns a part of a copy: `rows` rows of `bytes` bytes each, starting at byte `at` of row `row`.
OpenclCopy ChunkOfCopy(const OpenclCopy& copy, std::size_t row, std::size_t at, std::size_t bytes,
                       std::size_t rows) {
  OpenclCopy chunk = copy;
  chunk.host += row * copy.host_pitch + at;
  chunk.offset += row * copy.pitch + at;
  chunk.bytes = std::min(bytes, copy.bytes - at);
  chunk.rows = std::min(rows, copy.rows - row);
  return chunk;
}

}  // namespace

std::int32_t EnqueueCopy(const cl::Api& api, cl::QueueId queue, const OpenclCopy& copy,
                         cl::EventId* event) {
  if (copy.rows == 1) {
    return copy.reads ? api.EnqueueReadBuffer(queue, copy.buffer, 0, copy.offset, copy.bytes,
                                              copy.host, 0, nullptr, event)
                      : api.EnqueueWriteBuffer(queue, copy.buffer, 0, copy.offset, copy.bytes,
                                               copy.host, 0, nullptr, event);
  }
  const std::size_t there[3] = {copy.offset, 0, 0};
  const std::size_t here[3] = {};
  const std::size_t size[3] = {copy.bytes, copy.rows, 1};
  return copy.reads
             ? api.EnqueueReadBufferRect(queue, copy.buffer, 0, there, here, size, copy.pitch, 0,
                                         copy.host_pitch, 0, copy.host, 0, nullptr, event)
             : api.EnqueueWriteBufferRect(queue, copy.buffer, 0, there, here, size, copy.pitch, 0,
                                          copy.host_pitch, 0, copy.host, 0, nullptr, event);
}

OpenclStaging::~OpenclStaging() {
  if (memory_ == nullptr) return;
  if (slots_[0].bytes != nullptr) {
    api_.EnqueueUnmapMemObject(queue_, memory_, slots_[0].bytes, 0, nullptr, nullptr);
    api_.Finish(queue_);
  }
  api_.ReleaseMemObject(memory_);
}

// Allocates and maps pinned memory. It stays at its address while it is mapped.
bool OpenclStaging::Open() {
  if (memory_ != nullptr || is_refused_) return !is_refused_;
  std::int32_t status = cl::kSuccess;
  memory_ = api_.CreateBuffer(context_, cl::kReadWrite | cl::kHostMemory, kSlots * kSlotBytes,
                              nullptr, &status);
  is_refused_ = status != cl::kSuccess;
  if (is_refused_) return false;
  void* mapped = api_.EnqueueMapBuffer(queue_, memory_, cl::kTrue, cl::kMapBoth, 0,
                                       kSlots * kSlotBytes, 0, nullptr, nullptr, &status);
  is_refused_ = status != cl::kSuccess;
  for (std::size_t i = 0; i < kSlots && !is_refused_; ++i)
    slots_[i].bytes = static_cast<char*>(mapped) + i * kSlotBytes;
  return !is_refused_;
}

std::int32_t OpenclStaging::Copy(const OpenclCopy& copy) {
  if (!Open()) return EnqueueCopy(api_, queue_, copy, nullptr);
  const bool has_long_rows = copy.bytes > kSlotBytes;
  const std::size_t rows = has_long_rows ? 1 : kSlotBytes / copy.bytes;
  const std::size_t bytes = has_long_rows ? kSlotBytes : copy.bytes;
  for (std::size_t row = 0; row < copy.rows; row += rows) {
    for (std::size_t at = 0; at < copy.bytes; at += bytes) {
      const std::int32_t status = CopyChunk(ChunkOfCopy(copy, row, at, bytes, rows));
      if (status != cl::kSuccess) return status;
    }
  }
  return cl::kSuccess;
}

std::int32_t OpenclStaging::CopyChunk(const OpenclCopy& chunk) {
  Slot* slot = nullptr;
  const std::int32_t status = TakeSlot(&slot);
  if (status != cl::kSuccess) return status;
  OpenclCopy moved = chunk;
  moved.host = slot->bytes;
  moved.host_pitch = chunk.bytes;
  if (!chunk.reads) CopyRows(slot->bytes, chunk.bytes, chunk.host, chunk.host_pitch, chunk);
  slot->read = chunk.reads ? chunk : OpenclCopy{};
  return EnqueueCopy(api_, queue_, moved, &slot->moved);
}

// The slots, which are chunks of pinned memory, are used in turn. The next slot is the one whose copy was
// started first.
std::int32_t OpenclStaging::TakeSlot(Slot** slot) {
  *slot = &slots_[next_];
  next_ = (next_ + 1) % kSlots;
  if ((*slot)->moved == nullptr) return cl::kSuccess;
  const std::int32_t status = api_.WaitForEvents(1, &(*slot)->moved);
  if (status == cl::kSuccess) Free(**slot, true);
  return status;
}

void OpenclStaging::Free(Slot& slot, bool went_well) {
  if (slot.moved == nullptr) return;
  api_.ReleaseEvent(slot.moved);
  slot.moved = nullptr;
  if (went_well)
    CopyRows(slot.read.host, slot.read.host_pitch, slot.bytes, slot.read.bytes, slot.read);
}

void OpenclStaging::Settle(bool went_well) {
  for (Slot& slot : slots_) Free(slot, went_well);
}

}  // namespace kdl::runtime
