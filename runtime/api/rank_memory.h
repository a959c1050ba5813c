// The memory of tensors that are distributed over ranks.
#pragma once

#include <cstdint>
#include <span>

#include "core/error.h"
#include "kdl/rank_boxes.hpp"
#include "kdl/ranks.h"

namespace kdl::runtime {

// Returns the number of bytes of the view's elements.
std::int64_t BytesOf(const kdl_tensor& view);

// Returns the elements of a box. The result does not own its buffer.
kdl_array PartOf(const kdl_array& array, const ranks::Box& box);

// Copies the elements of boxes, one after another, to `to`, or from `from`.
Error Pack(const kdl_array& memory, std::span<const ranks::Box> boxes, char* to);
Error Unpack(const kdl_array& memory, std::span<const ranks::Box> boxes, const char* from);

// Gives the pages between two rows of elements back to the system, except those that contain parts of the rows.
void ReleaseBetween(char* from, char* to);

}  // namespace kdl::runtime
