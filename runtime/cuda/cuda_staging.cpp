#include "cuda/cuda_staging.h"

#include <algorithm>
#include <cstring>

namespace kdl::runtime {

namespace {

void CopyRows(char* to, std::size_t to_pitch, const char* from, std::size_t from_pitch,
              const cu::Copy2D& copy) {
  for (std::size_t row = 0; row < copy.rows; ++row)
    std::memcpy(to + row * to_pitch, from + row * from_pitch, copy.bytes);
}

// Calls `each` for chunks of at most `most` bytes. A chunk consists of whole rows, or of a part of one row.
template <class Each>
cu::Status ForEachChunk(const cu::Copy2D& copy, std::size_t most, const Each& each) {
  const bool has_long_rows = copy.bytes > most;
  const std::size_t rows = has_long_rows ? 1 : most / copy.bytes;
  const std::size_t bytes = has_long_rows ? most : copy.bytes;
  for (std::size_t row = 0; row < copy.rows; row += rows) {
    for (std::size_t at = 0; at < copy.bytes; at += bytes) {
      const cu::Copy2D chunk = {After(copy.from, row * copy.from.pitch + at, copy.from.pitch),
                                After(copy.to, row * copy.to.pitch + at, copy.to.pitch),
                                std::min(bytes, copy.bytes - at), std::min(rows, copy.rows - row)};
      const cu::Status status = each(chunk);
      if (status != cu::kSuccess) return status;
    }
  }
  return cu::kSuccess;
}

}  // namespace

cu::Side HostSide(const void* memory) {
  return {.kind = cu::kHostMemory, .host = const_cast<void*>(memory)};
}

cu::Side DeviceSide(const void* memory) {
  return {.device = reinterpret_cast<cu::Address>(memory)};
}

cu::Side After(cu::Side side, std::size_t offset, std::size_t pitch) {
  if (side.kind == cu::kHostMemory) side.host = static_cast<char*>(side.host) + offset;
  if (side.kind == cu::kDeviceMemory) side.device += offset;
  side.pitch = pitch;
  return side;
}

cu::Status CopyRectangle(const cu::Api& api, const cu::Copy2D& copy, cu::StreamId stream) {
  if (copy.rows > 1) return api.Memcpy2DAsync_v2(&copy, stream);
  if (copy.from.kind == cu::kHostMemory)
    return api.MemcpyHtoDAsync_v2(copy.to.device, copy.from.host, copy.bytes, stream);
  if (copy.to.kind == cu::kHostMemory)
    return api.MemcpyDtoHAsync_v2(copy.to.host, copy.from.device, copy.bytes, stream);
  return api.MemcpyDtoDAsync_v2(copy.to.device, copy.from.device, copy.bytes, stream);
}

CudaStaging::~CudaStaging() {
  for (const Slot& slot : slots_)
    if (slot.moved != nullptr) api_.EventDestroy_v2(slot.moved);
  if (memory_ != nullptr) api_.MemFreeHost(memory_);
}

bool CudaStaging::Open() {
  if (memory_ != nullptr || is_refused_) return !is_refused_;
  void* memory = nullptr;
  is_refused_ = api_.MemHostAlloc(&memory, kSlots * kSlotBytes, 0) != cu::kSuccess;
  if (is_refused_) return false;
  memory_ = static_cast<char*>(memory);
  for (std::size_t i = 0; i < kSlots && !is_refused_; ++i) {
    slots_[i].bytes = memory_ + i * kSlotBytes;
    is_refused_ = api_.EventCreate(&slots_[i].moved, cu::kNoTiming) != cu::kSuccess;
  }
  return !is_refused_;
}

cu::Status CudaStaging::Copy(const cu::Copy2D& copy) {
  if (Open()) {
    return ForEachChunk(copy, kSlotBytes,
                        [&](const cu::Copy2D& chunk) { return CopyChunk(chunk); });
  }
  // For unpinned memory, the driver may still read host memory after the call has returned.
  const cu::Status status = CopyRectangle(api_, copy, stream_);
  return status == cu::kSuccess && copy.from.kind == cu::kHostMemory
             ? api_.StreamSynchronize(stream_)
             : status;
}

cu::Status CudaStaging::CopyChunk(const cu::Copy2D& chunk) {
  Slot* slot = nullptr;
  cu::Status status = TakeSlot(&slot);
  if (status != cu::kSuccess) return status;
  cu::Copy2D moved = chunk;
  if (chunk.from.kind == cu::kHostMemory) {
    CopyRows(slot->bytes, chunk.bytes, static_cast<const char*>(chunk.from.host), chunk.from.pitch,
             chunk);
    moved.from = After(HostSide(slot->bytes), 0, chunk.bytes);
    slot->read = {};
  } else {
    moved.to = After(HostSide(slot->bytes), 0, chunk.bytes);
    slot->read = chunk;
  }
  status = CopyRectangle(api_, moved, stream_);
  if (status == cu::kSuccess) status = api_.EventRecord(slot->moved, stream_);
  slot->is_moving = status == cu::kSuccess;
  return status;
}

// The slots, which are chunks of pinned memory, are used in turn. The next slot is the one whose copy was
// started first.
cu::Status CudaStaging::TakeSlot(Slot** slot) {
  *slot = &slots_[next_];
  next_ = (next_ + 1) % kSlots;
  if (!(*slot)->is_moving) return cu::kSuccess;
  const cu::Status status = api_.EventSynchronize((*slot)->moved);
  if (status == cu::kSuccess) PutWhereItBelongs(**slot);
  return status;
}

void CudaStaging::PutWhereItBelongs(Slot& slot) {
  if (slot.is_moving)
    CopyRows(static_cast<char*>(slot.read.to.host), slot.read.to.pitch, slot.bytes, slot.read.bytes,
             slot.read);
  slot.is_moving = false;
}

cu::Status CudaStaging::Finish() {
  const cu::Status status = api_.StreamSynchronize(stream_);
  if (status != cu::kSuccess) return status;
  for (Slot& slot : slots_) PutWhereItBelongs(slot);
  return cu::kSuccess;
}

void CudaStaging::Forget() {
  for (Slot& slot : slots_) slot.is_moving = false;
}

}  // namespace kdl::runtime
