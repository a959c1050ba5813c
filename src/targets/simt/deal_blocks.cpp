#include <utility>
#include <vector>

#include "ir/views.h"
#include "passes/block_loops.h"
#include "passes/block_range.h"
#include "passes/rewrite.h"
#include "targets/simt/passes.h"

// deal-blocks: blocks become numbers, of which each core takes a run. A `for` over blocks walks their starts.
//
//   spmd (%i: blk<i> in %lo .. %hi) { … }      ->   loop %n in %begin .. %end step 1 {
//                                                     %i = make_blk lo + n * extent, min(extent, hi - start), n ; … }
//   for %k: blk<k> in %lo .. %hi { … }         ->   loop %start in %lo .. %hi step extent { %k = make_blk … }
//
// Which core takes a block that is dealt dynamically is open: here the same as of the others.

namespace kdl::simt {

namespace {

class Dealer {
 public:
  Dealer(ir::Module& module, ir::Function& kernel) : kernel_(kernel), b_(module) {}

  void Spmd(Op* op) {
    const std::vector<Value*> binders = op->region()->params();
    b_.SetInsertionPoint(op);
    b_.set_loc(op->loc());
    std::vector<BlockRange> ranges;
    std::vector<Value*> counts;
    Value* total = b_.I64(1);
    for (size_t i = 0; i < binders.size(); ++i) {
      Value* size = b_.I64(BlockExtent(kernel_, binders[i]));
      ranges.emplace_back(b_, op->operand(2 * i), op->operand(2 * i + 1), size);
      counts.push_back(ranges.back().Count());
      total = i == 0 ? counts[0] : b_.Binary(OpKind::Mul, total, counts[i]);
    }
    ir::Type i64 = b_.types().ScalarOf(Scalar::I64);
    Value* core = b_.Make(OpKind::CoreId, {}, i64);
    Value* cores = b_.Make(OpKind::CoreNum, {}, i64);
    Op* loop = MakeShareLoop(b_, op, core, total, cores);
    loop->SetAttr(ir::MakeAttr<AttrKey::Blocks>(1));
    Value* rest = loop->region()->param(0);
    std::vector<Value*> numbers(binders.size());
    for (size_t i = binders.size(); i-- > 0;) {
      if (i == 0) {
        numbers[i] = rest;
        break;
      }
      // Where a block is dealt there are blocks along each axis: the one that the maximum adds is for the text to show it.
      Value* count = b_.Binary(OpKind::Max, counts[i], b_.I64(1));
      numbers[i] = b_.Binary(OpKind::Rem, rest, count);
      rest = b_.Binary(OpKind::Div, rest, count);
    }
    for (size_t i = 0; i < binders.size(); ++i) {
      Value* start = ranges[i].Start(numbers[i]);
      bool is_blk = binders[i]->type()->kind == ir::TypeKind::Blk;
      Value* value =
          is_blk ? MakeBlk(start, ranges[i].SizeAt(start), numbers[i], binders[i]) : start;
      if (!is_blk) value->set_name(binders[i]->name());
      binders[i]->ReplaceAllUsesWith(value);
    }
    MoveOps(op->region(), loop->region());
    ir::Erase(op);
  }

  void For(Op* op) {
    ir::ForOp blocks(op);
    Value* binder = op->region()->param(0);
    b_.SetInsertionPoint(op);
    b_.set_loc(op->loc());
    Value* extent = b_.I64(BlockExtent(kernel_, binder));
    BlockRange range(b_, blocks.lo(), blocks.hi(), extent);
    Op* loop = MakeLoopInPlace(b_, op, blocks.lo(), blocks.hi(), extent);
    Value* start = loop->region()->param(0);
    Value* size = range.SizeAt(start);
    binder->ReplaceAllUsesWith(MakeBlk(start, size, range.IndexOf(start), binder));
    MoveOps(op->region(), loop->region());
    ir::Erase(op);
  }

 private:
  Value* MakeBlk(Value* start, Value* size, Value* index, const Value* binder) {
    Value* blk = b_.Make(OpKind::MakeBlk, {start, size, index}, binder->type());
    blk->set_name(binder->name());
    return blk;
  }

  ir::Function& kernel_;
  ir::Builder b_;
};

}  // namespace

void RunDealBlocks(PassContext& context, ir::Function& kernel) {
  Dealer dealer(context.module, kernel);
  for (Op* op : OpsOfKind(kernel, OpKind::For)) dealer.For(op);
  for (Op* op : OpsOfKind(kernel, OpKind::Spmd)) dealer.Spmd(op);
}

}  // namespace kdl::simt
