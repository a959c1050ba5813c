#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "interp/core_facts.h"
#include "support/scalar.h"

namespace kdl::interp {

/// Returns the strides of a row-major tensor with these sizes.
std::vector<int64_t> RowMajorStrides(const std::vector<int64_t>& sizes);

/// Returns the number of elements of memory between a tensor's first and last element, including both.
size_t SpannedElements(const TensorValue& tensor);

uint64_t ReadElement(const std::byte* from, Scalar scalar);
void WriteElement(std::byte* to, Scalar scalar, uint64_t bits);

}  // namespace kdl::interp
