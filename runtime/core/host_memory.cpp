#include "core/host_memory.h"

#include <cstdlib>

#include "core/error.h"
#include "core/view.h"

namespace kdl::runtime {

namespace {

kdl_error* Allocate(void*, std::int64_t bytes, const char*, kdl_memory* memory) {
  void* data = AllocateAligned(bytes);
  if (data == nullptr) {
    return Fail(KDL_ERROR_OUT_OF_MEMORY, "the system has no ", bytes, " bytes of memory left")
        .release();
  }
  *memory = {data, data};
  return nullptr;
}

void Release(void*, kdl_memory memory) { FreeAligned(memory.handle); }

void Write(void*, kdl_memory to, const void* from, const kdl_region* region, kdl_completion done) {
  CopyRegion(to.handle, from, *region);
  done.call(done.context, nullptr);
}

void Read(void*, void* to, kdl_memory from, const kdl_region* region, kdl_completion done) {
  CopyRegion(to, from.handle, *region);
  done.call(done.context, nullptr);
}

void Copy(void*, kdl_memory to, kdl_memory from, const kdl_region* region, kdl_completion done) {
  CopyRegion(to.handle, from.handle, *region);
  done.call(done.context, nullptr);
}

void Fill(void*, kdl_memory to, const kdl_region* region, std::uint64_t pattern,
          std::int32_t pattern_bytes, kdl_completion done) {
  FillRegion(to.handle, *region, pattern, pattern_bytes);
  done.call(done.context, nullptr);
}

}  // namespace

const kdl_memory_ops& HostMemoryOps() {
  static constexpr kdl_memory_ops kOps = {.size = sizeof(kdl_memory_ops),
                                          .version = KDL_PLUGIN_VERSION,
                                          .allocate = Allocate,
                                          .release = Release,
                                          .write = Write,
                                          .read = Read,
                                          .copy = Copy,
                                          .fill = Fill};
  return kOps;
}

void* AllocateAligned(std::int64_t bytes) {
  constexpr std::int64_t kAlignment = KDL_SCRATCH_ALIGNMENT;
  if (bytes > INT64_MAX - kAlignment) return nullptr;
  const std::int64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return std::aligned_alloc(kAlignment,
                            static_cast<std::size_t>(rounded == 0 ? kAlignment : rounded));
}

void FreeAligned(void* memory) { std::free(memory); }

}  // namespace kdl::runtime
