#include "targets/cpu/analysis/kernel_shape.h"

#include <algorithm>
#include <bit>

#include "support/check.h"

namespace kdl::cpu {

int64_t KernelShape::Extent(ir::AxisId axis) const {
  Size extent = function.axis(axis).extent;
  KDL_CHECK(IsConstant(extent), "axis '{}' has no constant extent",
            function.axis(axis).name.text());
  return extent->value;
}

AxisList WalkedAxes(const Op* elementwise) {
  AxisList axes;
  for (const Value* block : elementwise->operands()) axes.push_back(block->type()->axes[0]);
  return axes;
}

int64_t KernelShape::LanesAlong(ir::AxisId axis, int64_t bytes) const {
  auto extent = static_cast<uint64_t>(std::max<int64_t>(Extent(axis), 1));
  return std::min(facts.vector_bits / 8 / bytes, static_cast<int64_t>(std::bit_ceil(extent)));
}

}  // namespace kdl::cpu
