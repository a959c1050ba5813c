#include "driver/run/bound_program.h"

#include <cstring>

#include "driver/ranks/box_runs.h"

namespace kdl::driver {

Box StoredElements(const BoundArgument& argument) {
  return argument.part ? *argument.part : WholeBox(argument.tensor.shape);
}

void CopyToWhole(const BoundArgument& argument, std::byte* whole) {
  int64_t size = Bytes(argument.tensor.scalar);
  const std::byte* from = argument.tensor.bytes.data();
  ForEachRun(argument.tensor.shape, StoredElements(argument), [&](int64_t first, int64_t count) {
    std::memcpy(whole + first * size, from, static_cast<size_t>(count * size));
    from += count * size;
  });
}

void CopyFromWhole(const std::byte* whole, BoundArgument& argument) {
  int64_t size = Bytes(argument.tensor.scalar);
  std::byte* to = argument.tensor.bytes.data();
  ForEachRun(argument.tensor.shape, StoredElements(argument), [&](int64_t first, int64_t count) {
    std::memcpy(to, whole + first * size, static_cast<size_t>(count * size));
    to += count * size;
  });
}

}  // namespace kdl::driver
