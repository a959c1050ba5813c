#pragma once

#include <cstdint>
#include <vector>

#include "ir/module.h"

namespace kdl::codegen::ptx {

/// What a kernel's copies of boxes need of a launch: a map of a tensor, for boxes of so many rows, a panel wide.
struct TensorMap {
  int64_t tensor = 0;  ///< of the kernel's tensors the number
  int64_t row_dimension = 0;
  int64_t rows = 0;
  int64_t panel = 0;    ///< elements
  int64_t swizzle = 0;  ///< bytes

  bool operator==(const TensorMap&) const = default;
};

/// Those of a kernel, each once.
std::vector<TensorMap> TensorMapsOf(const ir::Function& kernel);
/// That of a `tile_copy` or `tile_copy_fits`.
TensorMap TensorMapOf(const ir::Function& kernel, const ir::Op* op);

}  // namespace kdl::codegen::ptx
