#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/ranks/box_runs.h"
#include "driver/ranks/boxes.h"
#include "driver/run/host_tensor.h"
#include "ir/module.h"
#include "ir/program_tensors.h"

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
  ir::RankDistribution distribution = {};
  /// The elements in `tensor.bytes`, box after box in row-major order, if other processes have the others. `tensor.shape` is
  /// that of the whole tensor.
  std::optional<std::vector<Box>> part = {};
};

/// Says which ranks own the elements of a distributed parameter.
Ownership MakeOwnership(const RankGrid& grid, const BoundArgument& argument);
/// Returns the elements in `tensor.bytes`.
std::vector<Box> StoredElements(const BoundArgument& argument);
int64_t CountStoredElements(const BoundArgument& argument);
/// Calls `use(first, count)` for each run of adjacent elements in `tensor.bytes`, in the order in which they are stored. `first`
/// is the number of an element of the whole tensor.
template <class Use>
void ForEachStoredRun(const BoundArgument& argument, Use use) {
  for (const Box& box : StoredElements(argument)) ForEachRun(argument.tensor.shape, box, use);
}
/// Copy these elements to the memory of the whole tensor, and from there.
void CopyToWhole(const BoundArgument& argument, std::byte* whole);
void CopyFromWhole(const std::byte* whole, BoundArgument& argument);

/// A program's sizes and arguments for one call.
struct BoundProgram {
  std::vector<int64_t> dims;  ///< in the order of Function::dims
  std::vector<BoundArgument> arguments;
};

}  // namespace kdl::driver
