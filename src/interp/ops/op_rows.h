#pragma once

#include "interp/code.h"
#include "ir/op_kind.h"

namespace kdl::interp {

/// The data that is computed for an op before it is executed.
enum class Plan : uint8_t {
  None,
  Computed,
  Access,
  Bound,
  BufferLoad,
  BufferStore,
  Call,
  CheckedSizes,
  Constant,
  Contraction,
  AsyncCopy,
  Split,
  Extent,
  MultiReduce,
  ReduceInLoop,
  ScanInLoop,
  LoadTile,
  TileBuffer,
  Elementwise,
  OperandAxes,
  Pipe,
  Positions,
  StoreTile,
  Reduce,
  ResultAxes,
  ResultSizes,
  Size,
  SlidingWindow,
  Spmd,
  Table,
  Gather,
  VectorMma,
};

/// How the interpreter executes an op.
struct OpRow {
  ir::OpKind kind = ir::OpKind::Const;
  Plan plan = Plan::None;
  Handler run = nullptr;
  YieldHandler yield = nullptr;   ///< for an op with regions: called at the end of each region
  Handler run_scalars = nullptr;  ///< for an op without tiles and vectors; if null, `run` is used
  Handler run_vectors = nullptr;

  Handler HandlerOf(OpForm form) const;
};
const OpRow& FindOpRow(ir::OpKind kind);

}  // namespace kdl::interp
