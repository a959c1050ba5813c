// The rows of adjacent elements of tensors that are distributed over ranks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device.h"
#include "kdl/rank_boxes.hpp"
#include "kdl/ranks.h"

namespace kdl::runtime {

// Returns the number of bytes of the view's elements.
std::int64_t BytesOf(const kdl_tensor& view);

// Returns the elements of a box. The result does not own its buffer.
kdl_array PartOf(const kdl_array& array, const ranks::Box& box);

// Calls `use` with the address of each row of adjacent elements in the view, which begins at `data`, and with its number of
// bytes.
template <class Use>
void ForEachRow(const kdl_tensor& view, std::int32_t dimension, char* data, Use& use) {
  const std::int64_t bytes = view.element_bits / 8;
  const bool is_row = dimension == view.rank - 1 && view.stride[dimension] == 1;
  if (is_row || dimension == view.rank) {
    use(data, static_cast<std::size_t>(is_row ? view.size[dimension] * bytes : bytes));
    return;
  }
  for (std::int64_t i = 0; i < view.size[dimension]; ++i)
    ForEachRow(view, dimension + 1, data + i * view.stride[dimension] * bytes, use);
}

// Calls `use` for each row of adjacent elements of an array.
template <class Use>
Error WithRows(const kdl_array& array, kdl_map_access access, Use use) {
  if (BytesOf(array.view) == 0) return nullptr;
  Buffer& buffer = *Unwrap(array.buffer);
  const auto* base = static_cast<const char*>(buffer.memory().address);
  const std::int64_t offset = static_cast<const char*>(array.view.data) - base;
  void* data = nullptr;
  KDL_RETURN_IF_ERROR(buffer.Map(access, &data));
  ForEachRow(array.view, 0, static_cast<char*>(data) + offset, use);
  return buffer.Unmap();
}

// Copies the elements of an array to `to`, or from `from`, and moves that to their end.
Error PackRows(const kdl_array& part, char*& to);
Error UnpackRows(const kdl_array& part, const char*& from);

// Gives the pages between two rows of elements back to the system, except those that contain parts of the rows.
void ReleaseBetween(char* from, char* to);

}  // namespace kdl::runtime
