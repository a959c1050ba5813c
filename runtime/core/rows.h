// Rows of adjacent elements of tensors.
#pragma once

#include <cstdint>
#include <span>

#include "core/device.h"
#include "kdl/rank_boxes.hpp"

namespace kdl::runtime {

// Calls `use(row, bytes, number)` for each row of adjacent elements in a box of a view, which begins at `data`. `number` is that
// of the row's first element, in row-major order of the view's elements.
template <class Use>
void ForEachRow(const kdl_tensor& view, const ranks::Box& box, char* data, Use& use,
                std::int32_t dimension = 0, std::int64_t number = 0) {
  const std::int64_t bytes = view.element_bits / 8;
  if (dimension == view.rank) return use(data, static_cast<std::size_t>(bytes), number);
  const ranks::Indices& part = box[static_cast<std::size_t>(dimension)];
  const std::int64_t step = view.stride[dimension] * bytes;
  number = number * view.size[dimension] + part.first;
  data += part.first * step;
  if (dimension == view.rank - 1 && view.stride[dimension] == 1)
    return use(data, static_cast<std::size_t>((part.end - part.first) * bytes), number);
  for (std::int64_t i = part.first; i < part.end; ++i, data += step, ++number)
    ForEachRow(view, box, data, use, dimension + 1, number);
}

// Does this for boxes of an array, whose buffer is mapped meanwhile. Empty boxes have no rows.
template <class Use>
Error WithRows(const kdl_array& array, std::span<const ranks::Box> boxes, kdl_map_access access,
               Use use) {
  bool is_empty = true;
  for (const ranks::Box& box : boxes) is_empty = is_empty && ranks::IsEmpty(box);
  if (is_empty) return nullptr;
  Buffer& buffer = *Unwrap(array.buffer);
  const auto* base = static_cast<const char*>(buffer.memory().address);
  const std::int64_t offset = static_cast<const char*>(array.view.data) - base;
  void* data = nullptr;
  KDL_RETURN_IF_ERROR(buffer.Map(access, &data));
  for (const ranks::Box& box : boxes)
    if (!ranks::IsEmpty(box)) ForEachRow(array.view, box, static_cast<char*>(data) + offset, use);
  return buffer.Unmap();
}

template <class Use>
Error WithRows(const kdl_array& array, const ranks::Box& box, kdl_map_access access, Use use) {
  return WithRows(array, std::span(&box, 1), access, use);
}

}  // namespace kdl::runtime
