#include "debug/debug_memory.h"

#include <algorithm>
#include <cstring>

#include "core/host_memory.h"
#include "core/text.h"
#include "core/view.h"
#include "system/pages.h"

namespace kdl::runtime {

namespace {

constexpr std::int64_t kGuardBytes = 256;
constexpr unsigned char kGuard = 0xfb;
// A bit that is 0 in all user-space addresses, on every processor that the host device supports.
constexpr std::uintptr_t kTag = std::uintptr_t{1} << 55;

const DebugAllocation* AllocationOf(kdl_memory memory) {
  return static_cast<const DebugAllocation*>(memory.handle);
}

std::string AllocationName(const DebugAllocation& allocation) {
  return allocation.name.empty() ? Concat("a buffer of ", allocation.bytes, " bytes")
                                 : Concat("'", allocation.name, "'");
}

// Returns the first byte of a guard band that was changed, or null.
const char* FindDamage(const char* begin, const char* end) {
  const char* found = std::find_if(
      begin, end, [](char byte) { return static_cast<unsigned char>(byte) != kGuard; });
  return found == end ? nullptr : found;
}

// Places the data between two guard bands in a heap block. Returns false if there is not enough memory.
bool PlaceBetweenBands(DebugAllocation& made) {
  constexpr std::int64_t kAlignment = KDL_SCRATCH_ALIGNMENT;
  constexpr std::int64_t kExtra = 2 * kAlignment + 2 * kGuardBytes;
  if (made.bytes > INT64_MAX - kExtra) return false;
  made.block = static_cast<char*>(AllocateAligned(made.bytes + kExtra));
  if (made.block == nullptr) return false;
  made.data = made.block + kAlignment + kGuardBytes;
  if (reinterpret_cast<std::uintptr_t>(made.data) % (2 * kAlignment) == 0) made.data -= kAlignment;
  made.low = made.data - kGuardBytes;
  made.high = made.data + made.bytes + kGuardBytes;
  return true;
}

// Places the data directly next to one of two inaccessible pages. A guard band fills the space between the
// data and the other page.
bool PlaceAtPage(DebugAllocation& made, Guard guard) {
  const std::int64_t page = PageBytes();
  if (made.bytes > INT64_MAX - 4 * page) return false;
  const std::int64_t usable = std::max((made.bytes + page - 1) / page * page, page);
  made.mapped_bytes = usable + 2 * page;
  void* mapped = ReservePages(made.mapped_bytes);
  if (mapped == nullptr) return false;
  made.block = static_cast<char*>(mapped);
  made.low = made.block + page;
  made.high = made.low + usable;
  made.data = guard == Guard::Start ? made.low : made.high - made.bytes;
  if (OpenPages(made.low, usable)) return true;
  UnmapPages(mapped, made.mapped_bytes);
  return false;
}

void FreeBlock(const DebugAllocation& allocation) {
  if (allocation.mapped_bytes == 0) return FreeAligned(allocation.block);
  UnmapPages(allocation.block, allocation.mapped_bytes);
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
  for (const auto& [key, allocation] : allocations_) FreeBlock(*allocation);
}

DebugAllocation* DebugMemory::Allocate(std::int64_t bytes, const char* name) {
  auto owner = std::make_unique<DebugAllocation>();
  DebugAllocation* made = owner.get();
  made->bytes = bytes;
  made->name = name == nullptr ? "" : name;
  allocations_.emplace(made, std::move(owner));  // may throw, so it precedes the allocation
  const bool is_placed =
      guard_ == Guard::Bands ? PlaceBetweenBands(*made) : PlaceAtPage(*made, guard_);
  if (!is_placed) {
    allocations_.erase(made);
    return nullptr;
  }
  std::fill(made->low, made->high, static_cast<char>(kGuard));
  std::memset(made->data, kPoison, static_cast<std::size_t>(bytes));
  return made;
}

void DebugMemory::Release(DebugAllocation* allocation) {
  std::memset(allocation->data, kPoison, static_cast<std::size_t>(allocation->bytes));
  FreeBlock(*allocation);
  allocations_.erase(allocation);
}

std::string DebugMemory::CheckGuards() {
  std::string first;
  for (const auto& [key, allocation] : allocations_) {
    char* end = allocation->data + allocation->bytes;
    const char* before = FindDamage(allocation->low, allocation->data);
    const char* after = FindDamage(end, allocation->high);
    if (first.empty() && before != nullptr) {
      first = Concat(std::int64_t{allocation->data - before}, " bytes before the start of ",
                     AllocationName(*allocation));
    }
    if (first.empty() && after != nullptr) {
      first = Concat("byte ", std::int64_t{after - allocation->data}, " of ",
                     AllocationName(*allocation), ", which has ", allocation->bytes);
    }
    if (before != nullptr) std::fill(allocation->low, allocation->data, static_cast<char>(kGuard));
    if (after != nullptr) std::fill(end, allocation->high, static_cast<char>(kGuard));
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
  // For the elements that the launch was allowed to write, updates the snapshot with the current contents.
  // Any remaining difference is a stray write.
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
    return Concat("byte ", std::int64_t{now - allocation->data}, " of ",
                  AllocationName(*allocation),
                  ", which no out or inout tensor of the launch covers");
  }
  return "";
}

}  // namespace kdl::runtime
