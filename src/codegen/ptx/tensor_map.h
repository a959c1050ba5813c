#pragma once

#include <cstdint>
#include <vector>

#include "ir/module.h"

namespace kdl::codegen::ptx {

/// A CUDA tensor map, which a launch must provide for the tile copies of a kernel. The tiles have `rows` rows
/// and are as wide as one panel of the swizzled layout.
struct TensorMap {
  int64_t tensor = 0;  ///< index among the kernel's tensors
  int64_t row_dimension = 0;
  int64_t rows = 0;
  int64_t panel = 0;    ///< width of a panel in elements
  int64_t swizzle = 0;  ///< width of the swizzle in bytes

  bool operator==(const TensorMap&) const = default;
};

/// Returns the tensor maps that a kernel needs, without duplicates.
std::vector<TensorMap> TensorMapsOf(const ir::Function& kernel);
/// Returns the tensor map for a `tile_copy_fits`, or for an `async_copy` that arrives at an mbarrier.
TensorMap TensorMapOf(const ir::Function& kernel, const ir::Op* op);

}  // namespace kdl::codegen::ptx
