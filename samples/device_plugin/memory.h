// The device's memory. The host cannot access it through the addresses that kernels use.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "kdl/device_plugin.h"

namespace sample {

// Using an address with this tag faults, which simulates a separate address space.
inline constexpr std::uintptr_t kTag = std::uintptr_t{1} << 62;

inline void* ToDevice(void* address) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) | kTag);
}
inline void* FromDevice(void* address) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) & ~kTag);
}

inline void* AllocateBlock(std::int64_t bytes) {
  constexpr std::int64_t kAlignment = KDL_SCRATCH_ALIGNMENT;
  if (bytes > INT64_MAX - kAlignment) return nullptr;
  const std::int64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return std::aligned_alloc(kAlignment, static_cast<std::size_t>(rounded));
}

// Calls run(to_offset, from_offset) for each contiguous run of bytes in the region.
template <class Run>
void ForEachRun(const kdl_region& region, Run run) {
  std::int64_t index[8] = {};
  for (;;) {
    std::int64_t to = region.to_offset;
    std::int64_t from = region.from_offset;
    for (std::int32_t d = 0; d < region.rank; ++d) {
      to += index[d] * region.to_step[d];
      from += index[d] * region.from_step[d];
    }
    run(to, from);
    std::int32_t d = region.rank - 1;
    while (d >= 0 && ++index[d] == region.count[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

inline void CopyRegion(void* to, const void* from, const kdl_region& region) {
  ForEachRun(region, [&](std::int64_t to_offset, std::int64_t from_offset) {
    std::memcpy(static_cast<char*>(to) + to_offset, static_cast<const char*>(from) + from_offset,
                static_cast<std::size_t>(region.run_bytes));
  });
}

inline void FillRegion(void* to, const kdl_region& region, std::uint64_t pattern,
                       std::int32_t pattern_bytes) {
  ForEachRun(region, [&](std::int64_t to_offset, std::int64_t) {
    for (std::int64_t at = 0; at < region.run_bytes; at += pattern_bytes) {
      std::memcpy(static_cast<char*>(to) + to_offset + at, &pattern,
                  static_cast<std::size_t>(pattern_bytes));
    }
  });
}

}  // namespace sample
