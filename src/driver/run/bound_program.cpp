#include "driver/run/bound_program.h"

#include <cstring>
#include <utility>

namespace kdl::driver {

Ownership MakeOwnership(const RankGrid& grid, const BoundArgument& argument) {
  std::vector<int64_t> axes;
  std::vector<int64_t> blocks;
  for (const ir::RankDimension& dim : argument.distribution) {
    axes.push_back(dim.axis);
    blocks.push_back(dim.block);
  }
  return {grid, argument.tensor.shape, std::move(axes), std::move(blocks)};
}

std::vector<Box> StoredElements(const BoundArgument& argument) {
  if (argument.part) return *argument.part;
  return {WholeBox(argument.tensor.shape)};
}

int64_t CountStoredElements(const BoundArgument& argument) {
  int64_t count = 0;
  for (const Box& box : StoredElements(argument)) count += CountElements(box);
  return count;
}

void CopyToWhole(const BoundArgument& argument, std::byte* whole) {
  int64_t size = Bytes(argument.tensor.scalar);
  const std::byte* from = argument.tensor.bytes.data();
  ForEachStoredRun(argument, [&](int64_t first, int64_t count) {
    std::memcpy(whole + first * size, from, static_cast<size_t>(count * size));
    from += count * size;
  });
}

void CopyFromWhole(const std::byte* whole, BoundArgument& argument) {
  int64_t size = Bytes(argument.tensor.scalar);
  std::byte* to = argument.tensor.bytes.data();
  ForEachStoredRun(argument, [&](int64_t first, int64_t count) {
    std::memcpy(to, whole + first * size, static_cast<size_t>(count * size));
    to += count * size;
  });
}

}  // namespace kdl::driver
