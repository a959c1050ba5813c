#pragma once

#include <cstdint>
#include <vector>

#include "ir/module.h"

namespace kdl::codegen::ptx {

/// A tensor map that a launch must provide for a kernel's tile copies. Tiles have `rows` rows, and are one
/// panel wide.
struct TensorMap {
  int64_t tensor = 0;  ///< index among the kernel's tensors
  int64_t row_dimension = 0;
  int64_t rows = 0;
  int64_t panel = 0;    ///< width of a panel in elements
  int64_t swizzle = 0;  ///< width of the swizzle in bytes

  bool operator==(const TensorMap&) const = default;
};

/// Returns the maps that a kernel needs, without duplicates.
std::vector<TensorMap> TensorMapsOf(const ir::Function& kernel);
/// Returns the map for a `tile_copy` or `tile_copy_fits`.
TensorMap TensorMapOf(const ir::Function& kernel, const ir::Op* op);

}  // namespace kdl::codegen::ptx
