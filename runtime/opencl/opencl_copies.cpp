#include "opencl/opencl_copies.h"

#include <mutex>
#include <string_view>

#include "opencl/opencl_context.h"
#include "workgroup/region_runs.h"

namespace kdl::runtime {

namespace {

// Allocates memory. If memory runs out, frees memory that launches have released, and tries again.
kdl_error* Allocate(void* device, std::int64_t bytes, const char*, kdl_memory* memory) {
  OpenclDevice& opencl = OpenclDevice::FromHandle(device);
  if (Error lost = opencl.lost.Told()) return lost.release();
  Error error = opencl.memory->Allocate(bytes, memory);
  if (error != nullptr && opencl.EmptyPool()) error = opencl.memory->Allocate(bytes, memory);
  return error.release();
}

void Release(void* device, kdl_memory memory) {
  OpenclDevice::FromHandle(device).memory->Release(memory);
}

OpenclAllocation& AllocationOf(kdl_memory memory) {
  return *static_cast<OpenclAllocation*>(memory.handle);
}

// Calls `enqueue`, waits for the queue, and completes the operation.
template <class Enqueue>
void Move(OpenclDevice& opencl, std::string_view what, kdl_completion done,
          const Enqueue& enqueue) {
  Error error = opencl.lost.Told();
  if (error == nullptr) {
    const std::lock_guard lock(opencl.mutex);
    std::int32_t status = enqueue();
    // Wait even if one part of a copy fails, because the earlier parts still access the host's memory.
    const std::int32_t ended = opencl.api.Finish(opencl.queue);
    if (status == cl::kSuccess) status = ended;
    if (opencl.staging) opencl.staging->Settle(status == cl::kSuccess);
    if (status != cl::kSuccess) error = opencl.Failed(what, status, /*has_waited=*/true);
  }
  done.call(done.context, error.release());
}

// Copies between host memory and a buffer. If the device has its own memory, copies through pinned memory.
std::int32_t MoveRectangle(OpenclDevice& opencl, const OpenclCopy& copy) {
  return opencl.staging ? opencl.staging->Copy(copy)
                        : EnqueueCopy(opencl.api, opencl.queue, copy, nullptr);
}

void Write(void* device, kdl_memory to, const void* from, const kdl_region* region,
           kdl_completion done) {
  OpenclDevice& opencl = OpenclDevice::FromHandle(device);
  char* host = static_cast<char*>(const_cast<void*>(from));
  Move(opencl, "writing", done, [&] {
    return ForEachRectangle(*region, cl::kSuccess, [&](const Rectangle& part) {
      return MoveRectangle(
          opencl, {false, host + part.from, part.from_pitch, AllocationOf(to).buffer, part.to,
                   part.to_pitch, part.bytes, part.rows});
    });
  });
}

void Read(void* device, void* to, kdl_memory from, const kdl_region* region, kdl_completion done) {
  OpenclDevice& opencl = OpenclDevice::FromHandle(device);
  char* host = static_cast<char*>(to);
  Move(opencl, "reading", done, [&] {
    return ForEachRectangle(*region, cl::kSuccess, [&](const Rectangle& part) {
      return MoveRectangle(opencl, {true, host + part.to, part.to_pitch, AllocationOf(from).buffer,
                                    part.from, part.from_pitch, part.bytes, part.rows});
    });
  });
}

// Copies within the device's memory. If source and destination are in the same buffer, copies one run at a
// time, because drivers do not accept rectangles with two different pitches in that case.
void Copy(void* device, kdl_memory to, kdl_memory from, const kdl_region* region,
          kdl_completion done) {
  OpenclDevice& opencl = OpenclDevice::FromHandle(device);
  cl::MemoryId target = AllocationOf(to).buffer;
  cl::MemoryId source = AllocationOf(from).buffer;
  auto run = [&](std::size_t to_offset, std::size_t from_offset) {
    return opencl.api.EnqueueCopyBuffer(opencl.queue, source, target, from_offset, to_offset,
                                        static_cast<std::size_t>(region->run_bytes), 0, nullptr,
                                        nullptr);
  };
  auto rectangle = [&](const Rectangle& part) {
    if (part.rows == 1) return run(part.to, part.from);
    const std::size_t there[3] = {part.to, 0, 0};
    const std::size_t here[3] = {part.from, 0, 0};
    const std::size_t size[3] = {part.bytes, part.rows, 1};
    return opencl.api.EnqueueCopyBufferRect(opencl.queue, source, target, here, there, size,
                                            part.from_pitch, 0, part.to_pitch, 0, 0, nullptr,
                                            nullptr);
  };
  Move(opencl, "copying", done, [&] {
    return source == target ? ForEachRun(*region, cl::kSuccess, run)
                            : ForEachRectangle(*region, cl::kSuccess, rectangle);
  });
}

void Fill(void* device, kdl_memory to, const kdl_region* region, std::uint64_t pattern,
          std::int32_t pattern_bytes, kdl_completion done) {
  OpenclDevice& opencl = OpenclDevice::FromHandle(device);
  const auto bytes = static_cast<std::size_t>(region->run_bytes);
  Move(opencl, "filling", done, [&] {
    return ForEachRun(*region, cl::kSuccess, [&](std::size_t to_offset, std::size_t) {
      return opencl.api.EnqueueFillBuffer(opencl.queue, AllocationOf(to).buffer, &pattern,
                                          static_cast<std::size_t>(pattern_bytes), to_offset, bytes,
                                          0, nullptr, nullptr);
    });
  });
}

}  // namespace

const kdl_memory_ops& OpenclMemoryOps() {
  static constexpr kdl_memory_ops kOps = {.size = sizeof(kdl_memory_ops),
                                          .version = KDL_PLUGIN_VERSION,
                                          .allocate = Allocate,
                                          .release = Release,
                                          .write = Write,
                                          .read = Read,
                                          .copy = Copy,
                                          .fill = Fill,
                                          .copy_from = nullptr,
                                          .adopt = nullptr};
  return kOps;
}

}  // namespace kdl::runtime
