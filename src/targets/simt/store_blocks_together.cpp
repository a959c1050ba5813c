#include "targets/simt/store_blocks_together.h"

#include <algorithm>

#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "proofs/proofs.h"
#include "support/contains.h"
#include "targets/simt/passes.h"

// Handles all blocks of a kept row at once if a loop over them does nothing but store what it computes from the row. A
// thread then handles several vectors of the row without asking in each block which of them exist.
//
//   %row = elementwise (%j in %all) { yield load %x[%n, %j] }
//   loop %n in 0 .. %C step 1024 {
//     %c = make_block %n, …
//     elementwise (%i in %r, %j in %c) { … element %row at (%j) … store … to %y[%i, %j] } }
//   ->
//   elementwise (%j in %all) { … element %row at (%j) … store … to %y[%n, %j] }

namespace kdl::simt {

namespace {

/// A loop over the blocks of a kept row whose iterations only store.
class StoreLoop {
 public:
  StoreLoop(const ir::Function& kernel, Op* loop) : kernel_(kernel), loop_(loop) {}

  /// Returns whether one elementwise loop can handle all blocks.
  bool Study() {
    return FindOps() && IsOverBlocks() && UsesOnlyBlock() && FindRow() &&
           !AnyBelow(elementwise_->region(), [&](const Op* op) { return !IsApart(op); });
  }

  void StoreTogether(ir::Module& module) {
    ir::Builder b(module, loop_);
    ir::ValueMap map;
    for (const Value* value : OutsideOperands(elementwise_)) {
      if (value != block_ && MadeIn(value) == loop_->region()) ir::Clone(value->def(), b, map);
    }
    for (size_t i = 0; i < elementwise_->operands().size(); ++i) {
      if (elementwise_->operand(i) != block_)
        map[elementwise_->region()->param(i)] = b.BlockStart(elementwise_->operand(i));
    }
    Op* together = b.Create(OpKind::Elementwise, {{row_}}, {});
    map[Column()] = b.AddParam(together->region(), b.I64Type(), Column()->name());
    FillRegion(b, together->region(), [&] {
      ir::CloneBody(elementwise_->region(), b, map);
      return Values();
    });
    ir::Erase(loop_);
  }

 private:
  /// Finds the block and the elementwise loop. Returns false if the loop does anything else.
  bool FindOps() {
    if (!loop_->results().empty() || loop_->HasAttr(AttrKey::Blocks)) return false;
    for (Op* op : *loop_->region()) {
      if (op->kind() == OpKind::Elementwise) {
        if (elementwise_) return false;
        elementwise_ = op;
      } else if (op->kind() == OpKind::MakeBlock) {
        if (block_) return false;
        block_ = op->result();
      } else if (!op->info().has(ir::kTerminator) && !IsFree(op)) {
        return false;
      }
    }
    return block_ && elementwise_ && elementwise_->results().empty() &&
           !elementwise_->HasAttr(AttrKey::Map) && Contains(elementwise_->operands(), block_);
  }

  static bool IsFree(const Op* op) {
    bool is_free = op->info().has(ir::kPure) || op->info().has(ir::kElementwise) ||
                   op->info().has(ir::kTerminator);
    return is_free && op->regions().empty() && !MayTrap(op);
  }

  /// Returns whether the blocks cover a dimension, so that all but the last are full.
  bool IsOverBlocks() const {
    const ir::Axis& axis = kernel_.axis(block_->type()->axes[0]);
    return block_->def()->operand(0) == loop_->region()->param(0) && axis.domain &&
           ConstantOf(loop_->operand(ir::LoopOp::at_lo)) == 0 &&
           ConstantOf(loop_->operand(ir::LoopOp::at_step)) == axis.extent->value;
  }

  /// Returns whether the elementwise loop runs over one row, and uses nothing else that an iteration makes, except for
  /// constants.
  bool UsesOnlyBlock() const {
    bool is_of_row = std::ranges::all_of(elementwise_->operands(), [&](const Value* block) {
      return block == block_ || IsConstant(kernel_.axis(block->type()->axes[0]).extent, 1);
    });
    return is_of_row && std::ranges::all_of(OutsideOperands(elementwise_), [&](const Value* value) {
             return value == block_ || MadeIn(value) != loop_->region() ||
                    (value->def() && value->def()->kind() == OpKind::Const);
           });
  }

  size_t ColumnNumber() const {
    auto at = std::ranges::find(elementwise_->operands(), block_);
    return static_cast<size_t>(at - elementwise_->operands().begin());
  }
  const Value* Column() const { return elementwise_->region()->param(ColumnNumber()); }

  /// Finds a kept row that is read in each column, and its block.
  bool FindRow() {
    for (const Op* op : *elementwise_->region()) {
      if (op->kind() != OpKind::Element || op->operand(1) != Column()) continue;
      const Op* load = op->operand(0)->def();
      bool is_row = load && load->kind() == OpKind::Elementwise && load->operands().size() == 1;
      if (is_row && IsWhole(load->operand(0)->def())) row_ = load->operand(0);
    }
    return row_ != nullptr;
  }

  /// Returns whether the op makes a block of all columns over which the loop runs.
  bool IsWhole(const Op* block) const {
    return block && block->kind() == OpKind::MakeBlock && ConstantOf(block->operand(0)) == 0 &&
           block->operand(1) == loop_->operand(ir::LoopOp::at_hi);
  }

  /// Returns whether the op does not depend on what it does at other points, nor on their order.
  bool IsApart(const Op* op) const {
    switch (op->kind()) {
      case OpKind::Load:
        return !MayTrap(op) && op->regions().empty() &&
               proofs::IsInput(op->operand(ir::LoadOp::at_tensor));
      case OpKind::Store:
        return !MayTrap(op) && IsOfColumn(op);
      default:
        return IsFree(op);
    }
  }

  /// Returns whether each column has its own elements of the tensor.
  bool IsOfColumn(const Op* store) const {
    const ir::Access access = store->attr<AttrKey::Access>();
    auto index = store->Segment(ir::StoreOp::at_index);
    return std::ranges::any_of(access.dims, [&](const ir::AccessDim& dim) {
      return dim.terms.size() == 1 && IsConstant(dim.terms[0].coefficient, 1) &&
             index[dim.terms[0].operand] == Column();
    });
  }

  const ir::Function& kernel_;
  Op* loop_;
  Value* block_ = nullptr;
  Op* elementwise_ = nullptr;
  Value* row_ = nullptr;  ///< the block of a kept row
};

}  // namespace

void StoreBlocksTogether(ir::Module& module, ir::Function& kernel) {
  for (Op* op : OpsOfKind(kernel, OpKind::Loop)) {
    StoreLoop loop(kernel, op);
    if (loop.Study()) loop.StoreTogether(module);
  }
}

}  // namespace kdl::simt
