#include "debug/debug_memory.h"

#include <algorithm>
#include <cstring>

#include "core/host_memory.h"
#include "core/text.h"
#include "core/view.h"

namespace kdl::runtime {

namespace {

constexpr std::int64_t kGuardBytes = 256;
constexpr unsigned char kGuard = 0xfb;
// No user-space address has this bit, on any processor that the host device knows.
constexpr std::uintptr_t kTag = std::uintptr_t{1} << 55;

const DebugAllocation* AllocationOf(kdl_memory memory) {
  return static_cast<const DebugAllocation*>(memory.handle);
}

std::string NameOf(const DebugAllocation& allocation) {
  return allocation.name.empty() ? Concat("a buffer of ", allocation.bytes, " bytes")
                                 : Concat("'", allocation.name, "'");
}

// The first byte of a band that is not as it was, or -1.
std::int64_t FindDamage(const char* band) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(band);
  const auto* found =
      std::find_if(bytes, bytes + kGuardBytes, [](unsigned char byte) { return byte != kGuard; });
  return found == bytes + kGuardBytes ? -1 : found - bytes;
}

}  // namespace

void* TagAddress(void* address) {
  return address == nullptr
             ? nullptr
             : reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) | kTag);
}

void* UntagAddress(void* address) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) & ~kTag);
}

DebugMemory::~DebugMemory() {
  for (const auto& [key, allocation] : allocations_) FreeAligned(allocation->block);
}

DebugAllocation* DebugMemory::Allocate(std::int64_t bytes, const char* name) {
  constexpr std::int64_t kAlignment = KDL_SCRATCH_ALIGNMENT;
  constexpr std::int64_t kExtra = 2 * kAlignment + 2 * kGuardBytes;
  if (bytes > INT64_MAX - kExtra) return nullptr;
  auto* block = static_cast<char*>(AllocateAligned(bytes + kExtra));
  if (block == nullptr) return nullptr;
  auto made = std::make_unique<DebugAllocation>();
  made->block = block;
  made->data = block + kAlignment + kGuardBytes;
  if (reinterpret_cast<std::uintptr_t>(made->data) % (2 * kAlignment) == 0) {
    made->data -= kAlignment;
  }
  made->bytes = bytes;
  made->name = name == nullptr ? "" : name;
  std::memset(made->data - kGuardBytes, kGuard, kGuardBytes);
  std::memset(made->data, kPoison, static_cast<std::size_t>(bytes));
  std::memset(made->data + bytes, kGuard, kGuardBytes);
  DebugAllocation* allocation = made.get();
  allocations_.emplace(allocation, std::move(made));
  return allocation;
}

void DebugMemory::Release(DebugAllocation* allocation) {
  std::memset(allocation->data, kPoison, static_cast<std::size_t>(allocation->bytes));
  FreeAligned(allocation->block);
  allocations_.erase(allocation);
}

std::string DebugMemory::CheckGuards() {
  std::string first;
  for (const auto& [key, allocation] : allocations_) {
    char* before = allocation->data - kGuardBytes;
    char* behind = allocation->data + allocation->bytes;
    const std::int64_t low = FindDamage(before);
    const std::int64_t high = FindDamage(behind);
    if (first.empty() && low >= 0) {
      first = Concat(kGuardBytes - low, " bytes before the start of ", NameOf(*allocation));
    }
    if (first.empty() && high >= 0) {
      first = Concat("byte ", allocation->bytes + high, " of ", NameOf(*allocation), ", which has ",
                     allocation->bytes);
    }
    if (low >= 0) std::memset(before, kGuard, kGuardBytes);
    if (high >= 0) std::memset(behind, kGuard, kGuardBytes);
  }
  return first;
}

Snapshot::Snapshot(const kdl_launch_request& request) {
  for (std::int32_t t = 0; t < request.tensor_count; ++t) {
    const DebugAllocation* allocation = AllocationOf(request.memories[t]);
    if (allocation == nullptr || copies_.contains(allocation)) continue;
    copies_.emplace(allocation,
                    std::vector<char>(allocation->data, allocation->data + allocation->bytes));
  }
}

std::string Snapshot::FindStrayWrite(const kdl_launch_request& request,
                                     const std::vector<kdl_tensor>& tensors) {
  // Brings what may have changed up to date; what differs then was not the launch's to write.
  std::size_t tensor = 0;
  for (std::int32_t p = 0; p < request.variant->param_count; ++p) {
    const kdl_param_desc& param = request.variant->params[p];
    if (param.is_tensor == 0) continue;
    const kdl_tensor& view = tensors[tensor];
    const DebugAllocation* allocation = AllocationOf(request.memories[tensor]);
    ++tensor;
    if (param.direction == KDL_IN || IsEmpty(view)) continue;
    const std::int64_t offset = static_cast<const char*>(view.data) - allocation->data;
    const kdl_region region = RegionOf(view, offset, view, offset);
    CopyRegion(copies_.at(allocation).data(), allocation->data, region);
  }
  for (const auto& [allocation, copy] : copies_) {
    const auto [now, before] =
        std::mismatch(allocation->data, allocation->data + allocation->bytes, copy.begin());
    if (before == copy.end()) continue;
    return Concat("byte ", std::int64_t{now - allocation->data}, " of ", NameOf(*allocation),
                  ", which no out or inout tensor of the launch covers");
  }
  return "";
}

}  // namespace kdl::runtime
