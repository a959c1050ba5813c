#pragma once

#include <cstdint>

#include "ir/module.h"
#include "passes/analysis/axis_order.h"
#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// What the passes that lower a kernel ask of it and of the processor, so that they agree.
struct KernelShape {
  const ir::Function& function;
  const ProcessorFacts& facts;
  AxisOrder order;

  /// The constant extent of an axis.
  int64_t Extent(ir::AxisId axis) const;
  /// How many scalars of `bytes` each a vector along `axis` takes: a register's worth, fewer where blocks are shorter.
  int64_t LanesAlong(ir::AxisId axis, int64_t bytes) const;
};

/// A tile with axes, which has a tile buffer; not a scalar.
inline bool IsTileValue(const ir::Value* value) {
  return ir::IsTile(value->type()) && !value->type()->axes.empty();
}

/// Whether the value is a tile with the axis.
inline bool HasAxis(const ir::Value* value, ir::AxisId axis) {
  return IsTileValue(value) && Contains(value->type()->axes, axis);
}

/// The axes of a elementwise loop's loops.
ir::AxisList WalkedAxes(const ir::Op* elementwise);

}  // namespace kdl::cpu
