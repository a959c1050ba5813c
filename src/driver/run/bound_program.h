#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/ranks/boxes.h"
#include "driver/run/host_tensor.h"
#include "ir/module.h"

namespace kdl::driver {

/// A parameter of the program with its value: before the run, the argument; afterwards, the result.
struct BoundArgument {
  std::string name;
  ir::Direction direction = ir::Direction::In;
  HostTensor tensor;  ///< a scalar has no dimensions
  bool is_tensor = false;
  bool is_absent =
      false;  ///< whether the parameter is optional and the program is called without it
  /// Whether the values are random: the parameter has no --arg and is not an `out` parameter.
  bool is_drawn = false;
  std::string out_path;  ///< the file given with --out, if any
  /// For each dimension, the axis of the grid of ranks along which the parameter is distributed, or -1. Empty if it is not.
  std::vector<int64_t> rank_axes = {};
  /// The elements in `tensor.bytes`, in row-major order, if other processes have the others. `tensor.shape` is that of the
  /// whole tensor.
  std::optional<Box> part = {};
};

/// Returns the elements in `tensor.bytes`.
Box StoredElements(const BoundArgument& argument);
/// Copy these elements to the memory of the whole tensor, and from there.
void CopyToWhole(const BoundArgument& argument, std::byte* whole);
void CopyFromWhole(const std::byte* whole, BoundArgument& argument);

/// A program's sizes and arguments for one call.
struct BoundProgram {
  std::vector<int64_t> dims;  ///< in the order of Function::dims
  std::vector<BoundArgument> arguments;
};

}  // namespace kdl::driver
