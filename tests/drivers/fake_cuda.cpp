#include "drivers/fake_cuda.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "drivers/fake_cuda_state.h"
#include "drivers/ptx_machine.h"

using namespace fake;

namespace {

template <class T>
Status Set(Stream* stream, Address address, T value, std::size_t count) {
  return Later(stream, address, count * sizeof(T), [=](char* to) {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  });
}

Status Allocate(Context& context, Address* address, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  if (bytes == 0) return kInvalidValue;
  if (bytes > kMemory - context.used) return kOutOfMemory;
  const std::size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  Memory memory(static_cast<char*>(std::aligned_alloc(kAlignment, whole)));
  if (memory == nullptr) return kOutOfMemory;
  context.used += bytes;
  *address = reinterpret_cast<Address>(memory.get()) | kTag;
  blocks.emplace(*address, Block{std::move(memory), bytes, &context});
  return kSuccess;
}

void Free(Context& context, Address address) {
  const std::lock_guard lock(mutex);
  const auto block = blocks.find(address);
  if (block == blocks.end()) Misused("memory that is none is freed");
  if (block->second.context != &context) Misused("memory of another context is freed");
  context.used -= block->second.size;
  blocks.erase(block);
}

// Removes one barrier from the PTX, so that tests can check that its absence is noticed. The environment
// variable FAKE_CUDA_DROP is the barrier's number, counted from 0. If FAKE_CUDA_DROPPED names another
// instruction, that instruction is removed instead.
void DropBarrier(std::string& text) {
  const char* number = std::getenv("FAKE_CUDA_DROP");
  if (number == nullptr) return;
  const char* dropped = std::getenv("FAKE_CUDA_DROPPED");
  const std::string barrier = dropped == nullptr ? "bar.sync" : dropped;
  std::size_t at = text.find(barrier);
  for (int left = std::atoi(number); left > 0 && at != std::string::npos; --left)
    at = text.find(barrier, at + 1);
  if (at != std::string::npos) text.erase(at, text.find(';', at) + 1 - at);
}

// Returns a module with the kernels of a PTX text, or null if the text is invalid.
std::unique_ptr<LoadedModule> ModuleOf(Context& context, std::string text) {
  DropBarrier(text);
  if (text.find(".version") == std::string::npos) return nullptr;
  auto module = std::make_unique<LoadedModule>();
  module->context = &context;
  try {
    module->code = std::make_unique<ptx::Module>(text, [&](const std::string& bytes) {
      Address address = 0;
      Allocate(context, &address, bytes.size());
      std::memcpy(LockedHost(address, bytes.size()), bytes.data(), bytes.size());
      module->constants.push_back(address);
      return address;
    });
  } catch (const std::runtime_error& error) {
    Misused(error.what());
  }
  return module;
}

// Runs all blocks of a launch, one after another. Meanwhile, the memory that they access must not be freed.
void RunBlocks(const ptx::Kernel& kernel, const std::vector<char>& params, unsigned blocks_x,
               const ptx::BlockSize& size_of_each) {
  Address start = 0;
  std::size_t size = 0;
  char* memory = nullptr;
  const ptx::HostOf host_of = [&](Address address, std::size_t bytes) {
    if (address < start || address + bytes > start + size) {
      const std::lock_guard lock(mutex);
      char* const at = Host(address, bytes);
      if (reinterpret_cast<Address>(at) == address) return at;
      const auto& [first, block] = *std::prev(blocks.upper_bound(address));
      start = first;
      size = block.size;
      memory = block.bytes.get();
    }
    return memory + (address - start);
  };
  try {
    for (unsigned block = 0; block < blocks_x; ++block)
      ptx::RunBlock(kernel, params, block, size_of_each, host_of);
  } catch (const std::runtime_error& error) {
    Misused(error.what());
  }
}

}  // namespace

extern "C" {

void fake_cuda_fail(const char* function, int status) {
  const std::lock_guard lock(mutex);
  failing[function] = status;
}

std::size_t fake_cuda_live() {
  const std::lock_guard lock(mutex);
  std::size_t retained = 0;
  for (const Context& context : contexts) retained += static_cast<std::size_t>(context.retained);
  return blocks.size() + streams.size() + modules.size() + events.size() + pinned.size() +
         pools.size() + retained;
}

void fake_cuda_pools(bool has) { has_pools = has; }

std::size_t fake_cuda_unpinned_copies() {
  const std::lock_guard lock(mutex);
  return unpinned_copies;
}

const char* fake_cuda_calls() {
  static std::string given;
  const std::lock_guard lock(mutex);
  given = std::exchange(calls, {});
  return given.c_str();
}

Status cuInit(unsigned) {
  Called(__func__);
  return Failing(__func__);
}
Status cuDeviceGetCount(int* count) {
  Called(__func__);
  *count = kDevices;
  return kSuccess;
}
Status cuDeviceGet(int* device, int ordinal) {
  Called(__func__);
  *device = ordinal;
  return ordinal < kDevices ? kSuccess : kInvalidValue;
}
Status cuDeviceGetName(char* name, int bytes, int device) {
  Called(__func__);
  std::snprintf(name, static_cast<std::size_t>(bytes), "no GPU %d", device);
  return kSuccess;
}
Status cuDeviceGetAttribute(int* value, int what, int) {
  Called(__func__);
  const std::map<int, int> known = {
      {1, 1024},                       // threads per block
      {9, 64 << 10},                   // bytes of constants
      {10, 32},                        // threads per warp
      {12, 64 << 10},                  // registers per block
      {13, 1980000},                   // clock rate in kHz
      {16, 4},                         // multiprocessors
      {38, 50 << 20},                  // bytes of L2 cache
      {39, kMostThreads},              // threads per multiprocessor
      {75, 9},                         // compute capability 9.0
      {81, kMultiprocessorWorkgroup},  // bytes of shared memory per multiprocessor
      {82, 64 << 10},                  // registers per multiprocessor
      {97, kMostWorkgroup},            // bytes of shared memory per block
      {111, kReserved},                // reserved bytes of shared memory
      {115, has_pools ? 1 : 0}};
  const auto found = known.find(what);
  *value = found == known.end() ? 0 : found->second;
  return kSuccess;
}
Status cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  Called(__func__);
  *bytes = kMemory;
  return kSuccess;
}

Status cuDevicePrimaryCtxRetain(Context** context, int device) {
  Called(__func__);
  FAIL_IF_TOLD();
  const std::lock_guard lock(mutex);
  *context = &contexts[device];
  ++contexts[device].retained;
  return kSuccess;
}
Status cuDevicePrimaryCtxRelease_v2(int device) {
  Called(__func__);
  const std::lock_guard lock(mutex);
  if (contexts[device].retained-- == 0) Misused("a context that is released once too often");
  return kSuccess;
}
Status cuCtxPushCurrent_v2(Context* context) {
  Called(__func__);
  const std::lock_guard lock(mutex);
  if (context->retained == 0) Misused("a context that is gone");
  current.push_back(context);
  return kSuccess;
}
Status cuCtxPopCurrent_v2(Context** context) {
  Called(__func__);
  *context = &Current();
  current.pop_back();
  return kSuccess;
}

Status cuMemAlloc_v2(Address* address, std::size_t bytes) {
  Called(__func__);
  FAIL_IF_TOLD();
  return Allocate(Current(), address, bytes);
}
Status cuMemFree_v2(Address address) {
  Called(__func__);
  Free(Current(), address);
  return kSuccess;
}

struct PoolProperties {
  int kind, handles, place, device;
  void* security;
  unsigned char reserved[64];
};
Status cuMemPoolCreate(Pool** pool, const PoolProperties* properties) {
  Called(__func__);
  FAIL_IF_TOLD();
  if (!has_pools || properties->kind != 1 || properties->place != 1) return kInvalidValue;
  const std::lock_guard lock(mutex);
  *pool = new Pool{&contexts[properties->device]};
  pools.insert(*pool);
  return kSuccess;
}
Status cuMemPoolDestroy(Pool* pool) {
  Called(__func__);
  const std::lock_guard lock(mutex);
  if (pools.erase(pool) == 0) Misused("a pool that is none is destroyed");
  delete pool;
  return kSuccess;
}
Status cuMemPoolSetAttribute(Pool* pool, int what, const std::uint64_t* value) {
  Called(__func__);
  const std::lock_guard lock(mutex);
  if (!pools.contains(pool) || what != 4) return kInvalidValue;
  pool->kept = *value;
  return kSuccess;
}
Status cuMemPoolTrimTo(Pool* pool, std::size_t) {
  Called(__func__);
  const std::lock_guard lock(mutex);
  return pools.contains(pool) ? kSuccess : kInvalidValue;
}
// The address is available at once, but another stream must wait for this stream before it uses the memory.
Status cuMemAllocFromPoolAsync(Address* address, std::size_t bytes, Pool* pool, Stream* stream) {
  Called(__func__);
  FAIL_IF_TOLD();
  Check(stream);
  if (!pools.contains(pool) || pool->context != stream->context)
    Misused("a pool that is none, or of another context");
  const Status status = Allocate(*stream->context, address, bytes);
  if (status == kSuccess) stream->waiting.emplace_back([] {});
  return status;
}
Status cuMemFreeAsync(Address address, Stream* stream) {
  Called(__func__);
  Check(stream);
  Context* const context = stream->context;
  stream->waiting.emplace_back([=] { Free(*context, address); });
  return kSuccess;
}

Status cuPointerGetAttribute(void* value, int what, Address address) {
  Called(__func__);
  FAIL_IF_TOLD();
  constexpr int kType = 2;
  constexpr int kOrdinal = 9;
  constexpr int kDeviceMemory = 2;
  const std::lock_guard lock(mutex);
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return kInvalidValue;
  const auto& [start, block] = *std::prev(after);
  if (address >= start + block.size) return kInvalidValue;
  const int found = what == kType ? kDeviceMemory : static_cast<int>(block.context - contexts);
  if (what != kType && what != kOrdinal) return kInvalidValue;
  *static_cast<int*>(value) = found;
  return kSuccess;
}

Status cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  Called(__func__);
  FAIL_IF_TOLD();
  Current();
  const std::lock_guard lock(mutex);
  char* made = static_cast<char*>(std::malloc(bytes));
  *memory = made;
  pinned.emplace(made, bytes);
  return kSuccess;
}
Status cuMemFreeHost(void* memory) {
  Called(__func__);
  Current();
  const std::lock_guard lock(mutex);
  if (pinned.erase(static_cast<char*>(memory)) == 0) Misused("host memory that is none is freed");
  std::free(memory);
  return kSuccess;
}

Status cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, Stream* stream) {
  Called(__func__);
  FAIL_IF_TOLD();
  CountUnpinned(from, bytes);
  return Later(stream, to, bytes, [=](char* memory) { std::memcpy(memory, from, bytes); });
}
Status cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, Stream* stream) {
  Called(__func__);
  FAIL_IF_TOLD();
  CountUnpinned(to, bytes);
  return Later(stream, from, bytes, [=](char* memory) { std::memcpy(to, memory, bytes); });
}
Status cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, Stream* stream) {
  Called(__func__);
  FAIL_IF_TOLD();
  LockedHost(from, bytes);
  return Later(stream, to, bytes,
               [=](char* memory) { std::memmove(memory, LockedHost(from, bytes), bytes); });
}
Status cuMemcpy2DAsync_v2(const Copy2D* copy, Stream* stream) {
  Called(__func__);
  FAIL_IF_TOLD();
  if (copy->from.pitch < copy->bytes || copy->to.pitch < copy->bytes) return kInvalidValue;
  for (std::size_t row = 0; row < copy->rows; ++row) {
    const std::size_t from = row * copy->from.pitch;
    const std::size_t to = row * copy->to.pitch;
    Status status = kInvalidValue;
    if (copy->from.kind == kHostMemory)
      status =
          cuMemcpyHtoDAsync_v2(copy->to.device + to, copy->from.host + from, copy->bytes, stream);
    else if (copy->to.kind == kHostMemory)
      status =
          cuMemcpyDtoHAsync_v2(copy->to.host + to, copy->from.device + from, copy->bytes, stream);
    else
      status =
          cuMemcpyDtoDAsync_v2(copy->to.device + to, copy->from.device + from, copy->bytes, stream);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}
Status cuMemcpyPeerAsync(Address to, Context* own, Address from, Context* other, std::size_t bytes,
                         Stream* stream) {
  Called(__func__);
  FAIL_IF_TOLD();
  {
    const std::lock_guard lock(mutex);
    auto context_of = [](Address address) {
      return std::prev(blocks.upper_bound(address))->second.context;
    };
    Host(to, bytes);
    Host(from, bytes);
    if (context_of(to) != own || context_of(from) != other || own == other)
      Misused("memory of another context than said is copied");
  }
  return Later(stream, to, bytes,
               [=](char* memory) { std::memcpy(memory, LockedHost(from, bytes), bytes); });
}
Status cuMemcpy3DPeerAsync(const CopyPeer* copy, Stream* stream) {
  Called(__func__);
  FAIL_IF_TOLD();
  const PeerSide& to = copy->to;
  const PeerSide& from = copy->from;
  constexpr int kDeviceMemory = 2;
  if (to.kind != kDeviceMemory || from.kind != kDeviceMemory || copy->planes != 1 ||
      to.pitch < copy->bytes || from.pitch < copy->bytes || to.height < copy->rows ||
      from.height < copy->rows)
    return kInvalidValue;
  for (std::size_t row = 0; row < copy->rows; ++row) {
    const Status status =
        cuMemcpyPeerAsync(to.device + row * to.pitch, to.context, from.device + row * from.pitch,
                          from.context, copy->bytes, stream);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}
Status cuMemsetD8Async(Address to, unsigned char value, std::size_t count, Stream* stream) {
  Called(__func__);
  return Set(stream, to, value, count);
}
Status cuMemsetD16Async(Address to, unsigned short value, std::size_t count, Stream* stream) {
  Called(__func__);
  return Set(stream, to, value, count);
}
Status cuMemsetD32Async(Address to, unsigned value, std::size_t count, Stream* stream) {
  Called(__func__);
  return Set(stream, to, value, count);
}
Status cuMemsetD2D32Async(Address to, std::size_t pitch, unsigned value, std::size_t width,
                          std::size_t height, Stream* stream) {
  Called(__func__);
  for (std::size_t row = 0; row < height; ++row) Set(stream, to + row * pitch, value, width);
  return kSuccess;
}

Status cuStreamCreate(Stream** stream, unsigned) {
  Called(__func__);
  FAIL_IF_TOLD();
  const std::lock_guard lock(mutex);
  *stream = new Stream(&Current());
  streams.insert(*stream);
  return kSuccess;
}
Status cuStreamDestroy_v2(Stream* stream) {
  Called(__func__);
  Check(stream);
  const std::lock_guard lock(mutex);
  if (!stream->waiting.empty()) Misused("a stream with work is destroyed");
  streams.erase(stream);
  delete stream;
  return kSuccess;
}
Status cuStreamQuery(Stream* stream) {
  Called(__func__);
  FAIL_IF_TOLD();
  stream = Resolved(stream);
  Check(stream);
  const std::lock_guard lock(mutex);
  return stream->waiting.empty() ? kSuccess : kNotReady;
}
Status cuStreamSynchronize(Stream* stream) {
  Called(__func__);
  stream = Resolved(stream);
  Check(stream);
  std::size_t all = 0;
  {
    const std::lock_guard lock(mutex);
    all = stream->done + stream->waiting.size();
  }
  RunUntil(*stream, all);
  FAIL_IF_TOLD();
  return kSuccess;
}

Status cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  Called(__func__);
  FAIL_IF_TOLD();
  stream = Resolved(stream);
  Check(stream);
  const std::lock_guard lock(mutex);
  if (!events.contains(event)) Misused("a stream waits for an event that is none");
  if (event->stream == nullptr) return kSuccess;
  stream->waiting.emplace_back(
      [before = event->stream, place = event->place] { RunBefore(before, place); });
  return kSuccess;
}

Status cuEventCreate(Event** event, unsigned flags) {
  Called(__func__);
  FAIL_IF_TOLD();
  constexpr unsigned kNoTiming = 2;
  const std::lock_guard lock(mutex);
  *event = new Event{&Current()};
  (*event)->is_timed = (flags & kNoTiming) == 0;
  events.insert(*event);
  return kSuccess;
}
Status cuEventDestroy_v2(Event* event) {
  Called(__func__);
  const std::lock_guard lock(mutex);
  if (events.erase(event) == 0) Misused("an event that is none is destroyed");
  delete event;
  return kSuccess;
}
Status cuEventRecord(Event* event, Stream* stream) {
  Called(__func__);
  FAIL_IF_TOLD();
  stream = Resolved(stream);
  Check(stream);
  const std::lock_guard lock(mutex);
  if (!events.contains(event) || event->context != stream->context)
    Misused("an event that is none, or of another context, is recorded");
  event->stream = stream;
  event->place = stream->done + stream->waiting.size();
  return kSuccess;
}
Status cuEventSynchronize(Event* event) {
  Called(__func__);
  FAIL_IF_TOLD();
  {
    const std::lock_guard lock(mutex);
    if (!events.contains(event)) Misused("an event that is none is waited for");
  }
  Check(event->stream);
  RunUntil(*event->stream, event->place);
  return kSuccess;
}

// Counts one millisecond for each operation between the events.
Status cuEventElapsedTime(float* ms, Event* begin, Event* end) {
  Called(__func__);
  FAIL_IF_TOLD();
  const std::lock_guard lock(mutex);
  for (const Event* event : {begin, end}) {
    if (!events.contains(const_cast<Event*>(event)) || !event->is_timed || event->stream == nullptr)
      Misused("the time of an event that is none, has none, or is not recorded is asked for");
    if (event->place > event->stream->done)
      Misused("the time of an event that is to come is asked for");
  }
  *ms = static_cast<float>(end->place) - static_cast<float>(begin->place);
  return kSuccess;
}

Status cuModuleLoadDataEx(LoadedModule** module, const void* data, unsigned count, const int* keys,
                          void** values) {
  const bool is_cubin = std::memcmp(data, "\x7f\x45LF", 4) == 0;
  Called(__func__, is_cubin ? " cubin" : " ptx");
  FAIL_IF_TOLD();
  if (is_cubin) return kNoBinaryForGpu;  // only PTX is interpreted
  std::unique_ptr<LoadedModule> made = ModuleOf(Current(), static_cast<const char*>(data));
  if (made == nullptr) {
    constexpr int kErrorLog = 5;
    for (unsigned i = 0; i < count; ++i) {
      if (keys[i] == kErrorLog)
        std::strcpy(static_cast<char*>(values[i]), "ptxas fatal   : no .version");
    }
    return kInvalidPtx;
  }
  const std::lock_guard lock(mutex);
  *module = made.release();
  modules.insert(*module);
  return kSuccess;
}
Status cuModuleUnload(LoadedModule* module) {
  Called(__func__);
  Context& context = Current();
  {
    const std::lock_guard lock(mutex);
    if (modules.erase(module) == 0) Misused("a module that is none is unloaded");
    if (module->context != &context) Misused("a module of another context is unloaded");
    for (auto& [name, function] : module->functions) functions.erase(&function);
  }
  for (const Address constant : module->constants) Free(context, constant);
  delete module;
  return kSuccess;
}
Status cuModuleGetFunction(Function** function, LoadedModule* module, const char* name) {
  Called(__func__);
  const std::lock_guard lock(mutex);
  if (!modules.contains(module)) Misused("a module that is none");
  const ptx::Kernel* kernel = module->code->Find(name);
  if (kernel == nullptr) return kNotFound;
  *function = &module->functions[name];
  (*function)->kernel = kernel;
  functions.insert(*function);
  return kSuccess;
}
Status cuFuncGetAttribute(int* value, int, Function* function) {
  Called(__func__);
  const std::lock_guard lock(mutex);
  if (!functions.contains(function)) Misused("a function that is none");
  *value = static_cast<int>(function->kernel->threads);
  return kSuccess;
}

Status cuFuncSetAttribute(Function* function, int what, int value) {
  Called(__func__);
  FAIL_IF_TOLD();
  const std::lock_guard lock(mutex);
  if (!functions.contains(function)) Misused("a function that is none");
  constexpr int kWorkgroupBytes = 8;
  if (what != kWorkgroupBytes || value > kMostWorkgroup) return kInvalidValue;
  function->workgroup_bytes = value;
  return kSuccess;
}
// Considers threads, shared memory and the limit on blocks, but not registers, which only an assembler of PTX
// assigns.
Status cuOccupancyMaxActiveBlocksPerMultiprocessor(int* fit, Function* function, int threads,
                                                   std::size_t workgroup_bytes) {
  Called(__func__);
  FAIL_IF_TOLD();
  const std::lock_guard lock(mutex);
  if (!functions.contains(function)) Misused("a function that is none");
  const std::size_t bytes = function->kernel->shared_bytes + workgroup_bytes + kReserved;
  *fit = std::min(
      {kMostBlocks, kMostThreads / threads, static_cast<int>(kMultiprocessorWorkgroup / bytes)});
  return kSuccess;
}
// Accepts only what the real driver accepts, within the supported subset: tensor tiles with swizzled rows of
// 128 bytes.
Status cuTensorMapEncodeTiled(ptx::TensorMap* map, int kind, std::uint32_t rank, void* address,
                              const std::uint64_t* sizes, const std::uint64_t* strides,
                              const std::uint32_t* box, const std::uint32_t* steps, int interleave,
                              int swizzle, int, int fill) {
  Called(__func__);
  FAIL_IF_TOLD();
  constexpr int kSwizzle128 = 3;
  constexpr std::uint64_t kAligned = 16;
  const auto base = reinterpret_cast<Address>(address);
  bool fits = reinterpret_cast<std::uintptr_t>(map) % 64 == 0 && rank >= 1 && rank <= 5 &&
              base % kAligned == 0 && kind >= 0 && kind <= 2 && swizzle == kSwizzle128 &&
              interleave == 0 && fill == 0;
  if (!fits) return kInvalidValue;
  *map = {base, {}, {}, {}, rank, 1U << kind};
  for (std::uint32_t d = 0; d < rank; ++d) {
    fits = fits && sizes[d] >= 1 && sizes[d] <= std::uint64_t{1} << 32 && box[d] >= 1 &&
           box[d] <= 256 && steps[d] == 1;
    map->sizes[d] = static_cast<std::uint32_t>(sizes[d]);
    map->box[d] = box[d];
    if (d == 0) continue;
    fits = fits && strides[d - 1] % kAligned == 0 && strides[d - 1] < std::uint64_t{1} << 40;
    map->strides[d - 1] = strides[d - 1];
  }
  return fits && box[0] * map->element_bytes == 128 ? kSuccess : kInvalidValue;
}
Status cuModuleGetGlobal_v2(Address* address, std::size_t* bytes, LoadedModule* module,
                            const char* name) {
  Called(__func__);
  const std::lock_guard lock(mutex);
  if (!modules.contains(module)) Misused("a module that is none");
  const std::uint64_t* found = module->code->FindConstant(name);
  if (found == nullptr) return kNotFound;
  *address = *found;
  *bytes = blocks.at(*found).size;
  return kSuccess;
}

struct LaunchConfig {
  unsigned blocks[3], threads[3], workgroup_bytes;
  Stream* stream;
  void* attributes;
  unsigned attribute_count;
};
Status cuLaunchKernelEx(const LaunchConfig* config, Function* function, void** given, void**) {
  const unsigned blocks_x = config->blocks[0];
  const unsigned threads = config->threads[0];
  const unsigned workgroup_bytes = config->workgroup_bytes;
  Called(__func__, " " + std::to_string(blocks_x));
  FAIL_IF_TOLD();
  Check(config->stream);
  const std::lock_guard lock(mutex);
  if (!functions.contains(function)) Misused("a function that is none is launched");
  const ptx::Kernel& kernel = *function->kernel;
  if (blocks_x == 0 || threads == 0 || threads > kernel.threads)
    Misused("a launch of a size that is none");
  if (workgroup_bytes > static_cast<unsigned>(function->workgroup_bytes)) return kInvalidValue;
  // The arguments are copied now; the kernel runs later.
  std::vector<char> params(kernel.param_bytes);
  for (std::size_t i = 0; i < kernel.params.size(); ++i)
    std::memcpy(params.data() + kernel.params[i].at, given[i], kernel.params[i].bytes);
  config->stream->waiting.push_back([&kernel, params, blocks_x, threads, workgroup_bytes] {
    RunBlocks(kernel, params, blocks_x, {threads, workgroup_bytes});
  });
  return kSuccess;
}

Status cuGetErrorName(Status status, const char** name) {
  Called(__func__);
  *name = status == kOutOfMemory  ? "CUDA_ERROR_OUT_OF_MEMORY"
          : status == kInvalidPtx ? "CUDA_ERROR_INVALID_PTX"
                                  : "CUDA_ERROR_UNKNOWN";
  return kSuccess;
}
Status cuGetErrorString(Status, const char** text) {
  Called(__func__);
  *text = "as it was told";
  return kSuccess;
}
}
