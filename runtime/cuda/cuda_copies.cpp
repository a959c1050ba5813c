#include "cuda/cuda_copies.h"

#include <string_view>

#include "cuda/cuda_context.h"
#include "cuda/cuda_foreign.h"
#include "workgroup/region_runs.h"

namespace kdl::runtime {

namespace {

kdl_error* Allocate(void* device, std::int64_t bytes, const char*, kdl_memory* memory) {
  CudaDevice& cuda = CudaDevice::FromHandle(device);
  if (Error lost = cuda.lost.Told()) return lost.release();
  const CurrentContext current(cuda.api, cuda.context);
  void* address = nullptr;
  const cu::Status status = cuda.Take(bytes, &address);
  if (status == cu::kOutOfMemory) {
    return Fail(KDL_ERROR_OUT_OF_MEMORY, "not enough device memory for ", bytes, " bytes")
        .release();
  }
  if (status != cu::kSuccess) return cuda.Failed("allocating memory", status).release();
  *memory = {address, address};
  return nullptr;
}

void Release(void* device, kdl_memory memory) {
  CudaDevice& cuda = CudaDevice::FromHandle(device);
  const CurrentContext current(cuda.api, cuda.context);
  cuda.memory->Release(AddressOf(memory.address));
}

// Calls `enqueue`, waits for the stream, and completes the operation.
template <class Enqueue>
void Move(void* device, std::string_view what, kdl_completion done, const Enqueue& enqueue) {
  CudaDevice& cuda = CudaDevice::FromHandle(device);
  Error error = cuda.lost.Told();
  if (error == nullptr) {
    CudaWork work(cuda);
    cu::Status status = work.status();
    if (status == cu::kSuccess) status = enqueue(cuda.api, work);
    if (status == cu::kSuccess) status = work.Wait();
    if (status != cu::kSuccess) error = cuda.Failed(what, status);
  }
  done.call(done.context, error.release());
}

void MoveRectangles(void* device, std::string_view what, const cu::Side& to, const cu::Side& from,
                    const kdl_region& region, kdl_completion done) {
  Move(device, what, done, [&](const cu::Api&, const CudaWork& work) {
    return ForEachRectangle(region, cu::kSuccess, [&](const Rectangle& part) {
      return work.Copy({After(from, part.from, part.from_pitch), After(to, part.to, part.to_pitch),
                        part.bytes, part.rows});
    });
  });
}

void Write(void* device, kdl_memory to, const void* from, const kdl_region* region,
           kdl_completion done) {
  MoveRectangles(device, "writing", DeviceSide(to.address), HostSide(from), *region, done);
}

void Read(void* device, void* to, kdl_memory from, const kdl_region* region, kdl_completion done) {
  MoveRectangles(device, "reading", HostSide(to), DeviceSide(from.address), *region, done);
}

void Copy(void* device, kdl_memory to, kdl_memory from, const kdl_region* region,
          kdl_completion done) {
  MoveRectangles(device, "copying", DeviceSide(to.address), DeviceSide(from.address), *region,
                 done);
}

// Copies directly between two GPUs. If they are only connected through the host, the driver copies through
// host memory.
void CopyFrom(void* device, kdl_memory to, void* peer, kdl_memory from, const kdl_region* region,
              kdl_completion done) {
  const cu::ContextId own = CudaDevice::FromHandle(device).context;
  const cu::ContextId other = CudaDevice::FromHandle(peer).context;
  Move(device, "copying from another GPU", done, [&](const cu::Api& api, const CudaWork& work) {
    return ForEachRectangle(*region, cu::kSuccess, [&](const Rectangle& part) {
      const cu::Address target = AddressOf(to.address) + part.to;
      const cu::Address source = AddressOf(from.address) + part.from;
      if (part.rows == 1)
        return api.MemcpyPeerAsync(target, own, source, other, part.bytes, work.stream());
      const cu::CopyPeer copy = {
          {.device = source, .context = other, .pitch = part.from_pitch, .height = part.rows},
          {.device = target, .context = own, .pitch = part.to_pitch, .height = part.rows},
          part.bytes,
          part.rows,
          1};
      return api.Memcpy3DPeerAsync(&copy, work.stream());
    });
  });
}

// Writes `count` patterns of `bytes` bytes each, starting at `to`.
cu::Status FillRun(const cu::Api& api, cu::Address to, std::uint64_t pattern, std::int32_t bytes,
                   std::size_t count, cu::StreamId stream) {
  const auto low = static_cast<unsigned>(pattern);
  if (bytes == 1) return api.MemsetD8Async(to, static_cast<unsigned char>(low), count, stream);
  if (bytes == 2) return api.MemsetD16Async(to, static_cast<unsigned short>(low), count, stream);
  if (bytes == 4) return api.MemsetD32Async(to, low, count, stream);
  // An 8-byte pattern is written as two interleaved columns of 4-byte words.
  const auto high = static_cast<unsigned>(pattern >> 32);
  const cu::Status status = api.MemsetD2D32Async(to, 8, low, 1, count, stream);
  return status == cu::kSuccess ? api.MemsetD2D32Async(to + 4, 8, high, 1, count, stream) : status;
}

void Fill(void* device, kdl_memory to, const kdl_region* region, std::uint64_t pattern,
          std::int32_t pattern_bytes, kdl_completion done) {
  const auto count = static_cast<std::size_t>(region->run_bytes / pattern_bytes);
  Move(device, "filling", done, [&](const cu::Api& api, const CudaWork& work) {
    return ForEachRun(*region, cu::kSuccess, [&](std::size_t to_offset, std::size_t) {
      return FillRun(api, AddressOf(to.address) + to_offset, pattern, pattern_bytes, count,
                     work.stream());
    });
  });
}

}  // namespace

const kdl_memory_ops& CudaMemoryOps() {
  static constexpr kdl_memory_ops kOps = {.size = sizeof(kdl_memory_ops),
                                          .version = KDL_PLUGIN_VERSION,
                                          .allocate = Allocate,
                                          .release = Release,
                                          .write = Write,
                                          .read = Read,
                                          .copy = Copy,
                                          .fill = Fill,
                                          .copy_from = CopyFrom,
                                          .adopt = AdoptCudaMemory};
  return kOps;
}

}  // namespace kdl::runtime
