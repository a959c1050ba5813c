#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "ir/views.h"
#include "passes/rewriting/block_loops.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/simt/analysis/outer_product.h"
#include "targets/simt/passes.h"

// distribute-consecutive-blocks: blocks become numbers, of which each core takes a run. A `for` over blocks walks their starts.
//
//   spmd (%i: block<i> in %lo .. %hi) { … }      ->   loop %n in %begin .. %end step 1 {
//                                                     %i = make_block lo + n * extent, min(extent, hi - start), n ; … }
//   spmd (%i: …, %j: …) { … }                  ->   loop … carry(%ni = begin div count j, %nj = begin rem count j) { …
//                                                     yield those of the next block }
//   for %k: block<k> in %lo .. %hi { … }         ->   loop %start in %lo .. %hi step extent { %k = make_block … }
//
// Where cores without blocks do nothing at all, the kernel says how many blocks there may be: busy_cores.
//
// Which core takes a block that is dealt dynamically is open: here the same as of the others.
//
// Where all that a kernel deals are a product's blocks, those that cores work on at a time share rows and columns, which stay in
// the cache before memory: a core's numbers are as many apart as there are cores, and numbers go down groups of rows, column by
// column.
//
//   spmd (%i: block<i> in …, %j: …) { … }        ->   loop %n in core .. count i * count j step cores {
//                                                     %r = n rem (16 count j) ; %h = min(16, count i - n div (16 count j) * 16)
//                                                     %i = make_block …, n div (16 count j) * 16 + r rem h
//                                                     %j = make_block …, r div h ; … }

namespace kdl::simt {

namespace {

constexpr int64_t kGroupRows =
    2048;  // of tensors, as large as squares of those blocks that are under way

/// Whether the kernel does nothing with cores but give them the blocks of a product of two tiles, along the last two axes of `spmd`.
bool IsOfProduct(const ir::Function& kernel, const Op* spmd) {
  const std::vector<Value*> binders = spmd->region()->params();
  if (binders.size() < 2) return false;
  ir::AxisList distributed;
  for (const Value* binder : std::span(binders).last(2)) {
    if (binder->type()->kind != ir::TypeKind::Block) return false;
    distributed.push_back(binder->type()->axes[0]);
  }
  std::ranges::sort(distributed);
  bool multiplies = false;
  bool alone = true;
  ir::Walk(kernel.body, [&](const Op* op) {
    alone &= op == spmd || op->kind() != OpKind::Spmd;
    alone &= op->kind() != OpKind::Stage && op->kind() != OpKind::Sync &&
             op->kind() != OpKind::Pipe && op->kind() != OpKind::CoreId;
    multiplies |= op->kind() == OpKind::Contraction && OuterAxes(op) &&
                  op->result()->type()->axes == distributed;
  });
  return multiplies && alone;
}

class Distributor {
 public:
  Distributor(ir::Module& module, ir::Function& kernel, const SimtFacts& facts)
      : kernel_(kernel), b_(module), facts_(facts) {}

  void Spmd(Op* op) {
    const std::vector<Value*> binders = op->region()->params();
    bool groups = facts_.groups_blocks && IsOfProduct(kernel_, op);
    b_.StandAt(op);
    std::vector<BlockRange> ranges;
    std::vector<Value*> counts;
    Value* total = b_.I64(1);
    for (size_t i = 0; i < binders.size(); ++i) {
      Value* size = b_.I64(BlockExtent(kernel_, binders[i]));
      ranges.emplace_back(b_, op->operand(2 * i), op->operand(2 * i + 1), size);
      counts.push_back(ranges.back().Count());
      total = i == 0 ? counts[0] : b_.Mul(total, counts[i]);
    }
    Value* core = b_.CoreId();
    Value* cores = b_.CoreNum();
    if (groups) {
      const Op* loop = MakeLoopInPlace(b_, op, core, total, cores);
      EnterBlock(op, ranges, NumbersInGroups(op, loop->region()->param(0), counts));
      return ir::Erase(op);
    }
    CoreShare share = CoreShareOf(b_, core, total, cores);
    bool walks = facts_.walks_blocks && counts.size() > 1;  // else the loop's numbers tell
    Values firsts = walks ? NumbersOf(share.begin, counts) : Values();
    MakeLoop(b_, {share.begin, share.end}, firsts, [&](Value* block, const Values& carried) {
      Values numbers = walks ? carried : NumbersOf(block, counts);
      ir::Erase(op->region()->terminator());
      EnterBlock(op, ranges, numbers);
      return walks ? NextNumbers(op, ranges, numbers) : Values();
    });
    ir::Erase(op);
  }

  void For(Op* op) {
    ir::ForOp blocks(op);
    Value* binder = op->region()->param(0);
    b_.StandAt(op);
    Value* extent = b_.I64(BlockExtent(kernel_, binder));
    BlockRange range(b_, blocks.lo(), blocks.hi(), extent);
    Op* loop = MakeLoopInPlace(b_, op, blocks.lo(), blocks.hi(), extent);
    Value* start = loop->region()->param(0);
    Value* size = range.SizeAt(start);
    binder->ReplaceAllUsesWith(MakeBlock(start, size, range.BlockIndex(start), binder));
    MoveOps(op->region(), loop->region());
    ir::Erase(op);
  }

 private:
  /// Where there is a block there are some along each axis: who divides by their number keeps nothing to ask for zero by.
  Value* AtLeastOne(Value* count) { return b_.Max(count, b_.I64(1)); }

  /// Moves what is done of each block to the loop around the builder's place.
  void EnterBlock(Op* spmd, std::vector<BlockRange>& ranges, const Values& numbers) {
    const std::vector<Value*> binders = spmd->region()->params();
    b_.region()->parent()->SetAttr(ir::MakeAttr<AttrKey::Blocks>(1));
    for (size_t i = 0; i < binders.size(); ++i) ReplaceBinder(binders[i], ranges[i], numbers[i]);
    MoveOps(spmd->region(), b_.region());
  }

  /// Of a block that there is along each axis, where the last two go in groups of rows.
  Values NumbersInGroups(const Op* spmd, Value* block, const Values& counts) {
    size_t at = counts.size() - 2;
    const Value* binder = spmd->region()->param(at);
    Value* most = b_.I64(std::max<int64_t>(kGroupRows / BlockExtent(kernel_, binder), 1));
    Value* layer = AtLeastOne(b_.Mul(counts[at], counts[at + 1]));
    Values outer(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(at));
    Values numbers;
    if (!outer.empty()) {
      numbers = NumbersOf(b_.Div(block, layer), outer);
      block = b_.Rem(block, layer);
    }
    Value* of_group = AtLeastOne(b_.Mul(most, counts[at + 1]));
    Value* first = b_.Mul(b_.Div(block, of_group), most);
    Value* rest = b_.Rem(block, of_group);
    Value* rows = AtLeastOne(b_.Min(most, b_.Sub(counts[at], first)));
    numbers.push_back(b_.Add(first, b_.Rem(rest, rows)));
    numbers.push_back(b_.Div(rest, rows));
    return numbers;
  }

  /// Of a block along each axis.
  Values NumbersOf(Value* block, const Values& counts) {
    Values numbers(counts.size());
    Value* rest = block;
    for (size_t i = counts.size(); i-- > 1;) {
      Value* count = AtLeastOne(counts[i]);
      numbers[i] = b_.Rem(rest, count);
      rest = b_.Div(rest, count);
    }
    numbers[0] = rest;
    return numbers;
  }

  /// Of the block after: along the last axis the next one, and at its end the first one again, and so on.
  Values NextNumbers(const Op* spmd, std::vector<BlockRange>& ranges, const Values& numbers) {
    Values next(numbers.size());
    Value* moves = nullptr;  // whether the axes after have come to their ends; null: there are none
    for (size_t i = numbers.size(); i-- > 0;) {
      Value* behind = b_.Add(numbers[i], b_.I64(1));
      // What the block says anyway tells its axis' end: no worker keeps a count for it.
      Value* is_last = i > 0 ? IsLast(spmd->operand(2 * i + 1), ranges[i], numbers[i]) : nullptr;
      next[i] = is_last ? b_.Select(is_last, b_.I64(0), behind) : behind;
      if (moves) next[i] = b_.Select(moves, next[i], numbers[i]);
      if (is_last) moves = moves ? b_.And(moves, is_last) : is_last;
    }
    return next;
  }

  Value* IsLast(Value* hi, BlockRange& range, Value* number) {
    Value* start = range.Start(number);
    return b_.Eq(b_.Add(start, range.SizeAt(start)), hi);
  }

  void ReplaceBinder(Value* binder, BlockRange& range, Value* number) {
    Value* start = range.Start(number);
    bool is_block = binder->type()->kind == ir::TypeKind::Block;
    Value* value = is_block ? MakeBlock(start, range.SizeAt(start), number, binder) : start;
    if (!is_block) value->set_name(binder->name());
    binder->ReplaceAllUsesWith(value);
  }

  Value* MakeBlock(Value* start, Value* size, Value* index, const Value* binder) {
    Value* block = b_.Make(OpKind::MakeBlock, {start, size, index}, binder->type());
    block->set_name(binder->name());
    return block;
  }

  ir::Function& kernel_;
  ir::Builder b_;
  const SimtFacts& facts_;
};

}  // namespace

void RunDistributeConsecutiveBlocks(PassContext& context, ir::Function& kernel) {
  Distributor distributor(context.module, kernel, FactsOf(context));
  ir::Builder builder(context.module);
  StateBusyCores(builder, kernel, [&](const Op* op, size_t binder) {
    int64_t extent = BlockExtent(kernel, op->region()->param(binder));
    return context.module.types().sizes().Constant(extent);
  });
  for (Op* op : OpsOfKind(kernel, OpKind::For)) distributor.For(op);
  for (Op* op : OpsOfKind(kernel, OpKind::Spmd)) distributor.Spmd(op);
}

}  // namespace kdl::simt
