#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "interp/core_facts.h"
#include "support/scalar.h"

namespace kdl::interp {

/// The strides of a row-major tensor of these sizes.
std::vector<int64_t> RowMajorStrides(const std::vector<int64_t>& sizes);

/// How many elements of memory lie from a tensor's first element to its last, both included.
size_t SpanOf(const TensorValue& tensor);

uint64_t ReadElement(const std::byte* from, Scalar scalar);
void WriteElement(std::byte* to, Scalar scalar, uint64_t bits);

}  // namespace kdl::interp
