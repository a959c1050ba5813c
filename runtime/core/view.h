// The geometry of tensor views: byte ranges, overlap, and the regions of copies and fills.
#pragma once

#include <string>

#include "core/element.h"
#include "core/error.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

inline std::int64_t ElementBytes(const kdl_tensor& view) { return view.element_bits / 8; }

// Whether the view has no elements. Inline, because it is called several times for each tensor of a launch.
inline bool IsEmpty(const kdl_tensor& view) {
  for (std::int32_t d = 0; d < view.rank; ++d) {
    if (view.size[d] == 0) return true;
  }
  return false;
}

// Returns the size in bytes of the range that a view touches, starting at its address. Returns 0 if the view
// has no elements.
inline std::int64_t SpanBytes(const kdl_tensor& view) {
  if (IsEmpty(view)) return 0;
  std::int64_t last = 0;
  for (std::int32_t d = 0; d < view.rank; ++d) last += (view.size[d] - 1) * view.stride[d];
  return (last + 1) * ElementBytes(view);
}

// Returns a view's type, such as "f32[3, 4]", "f32[]" for rank 0, or "f32 of rank 9" for an invalid rank.
std::string Describe(const kdl_tensor& view);

// Checks that the rank, element type, layout and sizes are valid, that no stride with a meaning is negative,
// and that the size in bytes fits in 63 bits. Messages start with `what`. Stores the view's SpanBytes unless `bytes` is
// null.
Error CheckView(const kdl_tensor& view, std::string_view what, std::int64_t* bytes = nullptr);

// Checks that the address of a view is valid for its elements. The view must have passed CheckView.
Error CheckAddress(const kdl_tensor& view, std::string_view what);

// Fills a dense view of at least one element, and stores its size in bytes. Returns false if the view has no
// elements or is invalid. Almost all views are made here, so the fields are written in place: copying a
// complete view would stall until the writes to its fields are in the cache.
inline bool FillDenseView(std::uint8_t element, std::int32_t rank, const std::int64_t* sizes,
                          kdl_tensor* view, std::int64_t* bytes) {
  const ElementFacts* facts = FactsOfElement(element);
  if (facts == nullptr || rank < 0 || rank > KDL_MAX_RANK) return false;
  view->data = nullptr;
  view->rank = rank;
  view->element = element;
  view->element_bits = facts->bits;
  view->layout = KDL_LAYOUT_STRIDED;
  for (std::int32_t d = 0; d < KDL_MAX_RANK; ++d) view->size[d] = 1;
  for (std::int32_t d = 0; d < KDL_MAX_RANK; ++d) view->stride[d] = 0;
  std::int64_t stride = 1;
  bool fits = true;
  for (std::int32_t d = rank - 1; d >= 0; --d) {
    fits &= sizes[d] > 0;
    view->size[d] = sizes[d];
    view->stride[d] = stride;
    fits &= !__builtin_mul_overflow(stride, sizes[d], &stride);
  }
  return fits && !__builtin_mul_overflow(stride, facts->bits / 8, bytes);
}

// Initializes a view with row-major strides. Fails if the rank or a size is invalid, or if the number of
// bytes overflows.
Error MakeView(std::uint8_t element, std::int32_t rank, const std::int64_t* sizes,
               std::string_view what, kdl_tensor* view);

// Whether an element of `a` and an element of `b` share a byte. Both must be checked views in the same
// address space. The search for such elements is limited; if it reaches its limit, the views count as
// overlapping. Apart from that, the result is exact.
bool Overlap(const kdl_tensor& a, const kdl_tensor& b);

// Whether two different indices of the view reach the same element.
bool OverlapsItself(const kdl_tensor& view);

// Returns the region for copying one view to another, that is, a description of the contiguous runs of bytes
// to copy. Both views must have the same shape and at least one element. `to_offset` and `from_offset` are
// the positions of the views' first elements in their buffers.
kdl_region RegionOf(const kdl_tensor& to, std::int64_t to_offset, const kdl_tensor& from,
                    std::int64_t from_offset);

// Return a region with the same runs, for copying from (or to) memory in which the runs are next to one
// another, without gaps.
kdl_region WithDenseFrom(const kdl_region& region);
kdl_region WithDenseTo(const kdl_region& region);

std::int64_t RegionBytes(const kdl_region& region);

// Calls run(to_offset, from_offset) for each contiguous run of the region.
template <class Run>
void ForEachRun(const kdl_region& region, Run run) {
  std::int64_t index[8] = {};
  std::int64_t to = region.to_offset;
  std::int64_t from = region.from_offset;
  for (;;) {
    run(to, from);
    std::int32_t loop = region.rank - 1;
    for (; loop >= 0; --loop) {
      to += region.to_step[loop];
      from += region.from_step[loop];
      if (++index[loop] < region.count[loop]) break;
      to -= region.count[loop] * region.to_step[loop];
      from -= region.count[loop] * region.from_step[loop];
      index[loop] = 0;
    }
    if (loop < 0) return;
  }
}

// Copy or fill the runs of a region in the memory of this process.
void CopyRegion(void* to, const void* from, const kdl_region& region);
void FillRegion(void* to, const kdl_region& region, std::uint64_t pattern,
                std::int32_t pattern_bytes);

}  // namespace kdl::runtime
