#include "targets/cpu/window_block.h"

#include <cstdlib>

#include "ir/op_kind.h"

namespace kdl::cpu {

using ir::Value;

namespace {

/// Emits the distance from the first element of the term's block to its last.
Value* Reach(ir::Builder& b, const WindowTerm& term) {
  Value* size = b.BlockSize(term.block);
  return b.Sub(size, b.I64(1));
}

/// Emits the index at which the term is least.
Value* LeastAt(ir::Builder& b, const WindowTerm& term) {
  Value* start = b.BlockStart(term.block);
  return term.coefficient > 0 ? start : b.Add(start, Reach(b, term));
}

Value* Scaled(ir::Builder& b, Value* value, int64_t factor) {
  return factor == 1 ? value : b.Mul(value, b.I64(factor));
}

}  // namespace

int64_t WindowExtent(const ir::Function& kernel, const WindowTerms& terms) {
  int64_t extent = 1;
  for (const WindowTerm& term : terms) {
    kdl::Size size = kernel.axis(term.block->type()->axes[0]).extent;
    extent += std::abs(term.coefficient) * ((IsConstant(size) ? size->value : 0) - 1);
  }
  return extent;
}

Value* MakeWindow(ir::Builder& b, const WindowTerms& terms, Value* offset, ir::AxisId axis) {
  Value* start = offset;
  Value* size = b.I64(1);
  Value* least = nullptr;
  for (const WindowTerm& term : terms) {
    start = b.Add(start, Scaled(b, LeastAt(b, term), term.coefficient));
    size = b.Add(size, Scaled(b, Reach(b, term), std::abs(term.coefficient)));
    Value* own = b.BlockSize(term.block);
    least = least ? b.Min(least, own) : own;
  }
  Value* zero = b.I64(0);
  Value* exists = b.Lt(zero, least);
  size = b.Select(exists, size, zero);
  return b.Make(ir::OpKind::MakeBlock, {start, size, zero}, b.types().Block(axis));
}

}  // namespace kdl::cpu
