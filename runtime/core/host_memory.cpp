#include "core/host_memory.h"

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "core/view.h"
#include "system/float_state.h"
#include "system/pages.h"

namespace kdl::runtime {

namespace {

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
                                          .allocate = nullptr,
                                          .release = nullptr,
                                          .write = Write,
                                          .read = Read,
                                          .copy = Copy,
                                          .fill = Fill,
                                          .copy_from = nullptr,
                                          .adopt = nullptr};
  return kOps;
}

// Requests large pages for large blocks. Kernels access many rows of a tile at once, and with small pages the
// processor's TLB does not cover them all.
void* AllocateAligned(std::int64_t bytes) {
  constexpr std::int64_t kLargePage = std::int64_t{2} << 20;
  const bool is_large = bytes >= kLargePage / 2;
  const std::int64_t alignment = is_large ? kLargePage : std::int64_t{KDL_SCRATCH_ALIGNMENT};
  if (bytes > INT64_MAX - alignment) return nullptr;
  const std::int64_t rounded = std::max((bytes + alignment - 1) / alignment * alignment, alignment);
  void* memory =
      std::aligned_alloc(static_cast<std::size_t>(alignment), static_cast<std::size_t>(rounded));
  if (is_large && memory != nullptr) AskForLargePages(memory, rounded);
  return memory;
}

void FreeAligned(void* memory) { std::free(memory); }

void* HostMemory::Allocate(std::int64_t bytes, bool* is_misaligned) const {
  if (hooks_.allocate == nullptr) return AllocateAligned(bytes);
  const FloatScope floats;  // the hook may change the floating-point state
  void* memory =
      hooks_.allocate(hooks_.user, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)),
                      KDL_SCRATCH_ALIGNMENT);
  if (reinterpret_cast<std::uintptr_t>(memory) % KDL_SCRATCH_ALIGNMENT == 0) return memory;
  Free(memory, bytes);
  if (is_misaligned != nullptr) *is_misaligned = true;
  return nullptr;
}

void HostMemory::Free(void* memory, std::int64_t bytes) const {
  if (hooks_.allocate == nullptr) return FreeAligned(memory);
  if (memory == nullptr) return;
  const FloatScope floats;
  hooks_.release(hooks_.user, memory, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
}

}  // namespace kdl::runtime
