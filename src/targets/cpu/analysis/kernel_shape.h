#pragma once

#include <cstdint>

#include "ir/module.h"
#include "passes/analysis/axis_order.h"
#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// The properties of the kernel and the processor that the lowering passes query. All of these passes share
/// them so that their decisions agree.
struct KernelShape {
  const ir::Function& function;
  const ProcessorFacts& facts;
  AxisOrder order;

  /// Returns the constant extent of an axis.
  int64_t Extent(ir::AxisId axis) const;
  /// Returns the number of scalars of `bytes` bytes in a vector along `axis`: as many as fit into a register,
  /// or fewer if blocks are shorter.
  int64_t LanesAlong(ir::AxisId axis, int64_t bytes) const;
};

/// Whether the value is a tile with axes, which needs a tile buffer, rather than a scalar.
inline bool IsTileValue(const ir::Value* value) {
  return ir::IsTile(value->type()) && !value->type()->axes.empty();
}

/// Whether the value is a tile that has the axis.
inline bool HasAxis(const ir::Value* value, ir::AxisId axis) {
  return IsTileValue(value) && Contains(value->type()->axes, axis);
}

/// Returns the axes over which an elementwise loop runs.
ir::AxisList WalkedAxes(const ir::Op* elementwise);

}  // namespace kdl::cpu
