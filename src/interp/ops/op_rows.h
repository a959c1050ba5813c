#pragma once

#include "interp/code.h"
#include "ir/op_kind.h"

namespace kdl::interp {

/// What of an op is worked out before it runs.
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
  TileCopy,
  Copy,
  Split,
  Extent,
  MultiReduce,
  ReduceInLoop,
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

/// What the interpreter has for an op.
struct OpRow {
  ir::OpKind kind = ir::OpKind::Const;
  Plan plan = Plan::None;
  Handler run = nullptr;
  YieldHandler yield = nullptr;   ///< of an op with regions: what their ends do
  Handler run_scalars = nullptr;  ///< where it has no tiles and vectors; null: as it runs else
  Handler run_vectors = nullptr;

  Handler HandlerOf(OpForm form) const;
};
const OpRow& RowOf(ir::OpKind kind);

}  // namespace kdl::interp
