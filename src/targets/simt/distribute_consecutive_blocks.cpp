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

// distribute-consecutive-blocks: numbers the blocks of an `spmd` and replaces the `spmd` by a loop over these
// numbers. Each core processes a consecutive range of them. A `for` over blocks becomes a loop over the
// starts of the blocks.
//
//   spmd (%i: block<i> in %lo .. %hi) { … }
//   ->  loop %n in %begin .. %end step 1 {
//         %i = make_block lo + n * extent, min(extent, hi - start), n ; … }
//   spmd (%i: …, %j: …) { … }
//   ->  loop … carry(%ni = begin div count j, %nj = begin rem count j) {
//         … yield the numbers of the next block }
//   for %k: block<k> in %lo .. %hi { … }
//   ->  loop %start in %lo .. %hi step extent { %k = make_block … }
//
// If cores without blocks do nothing at all, and the kernel does not use `core_num`, the op `busy_cores` states
// the maximum number of blocks, so that a launch uses no more cores than that. Devices rely on it: they choose
// the number of cores for launches of such kernels (kdl_device_ops.cores).
//
// With dynamic scheduling, any core may execute any block. This pass ignores dynamic scheduling and assigns
// such blocks like all others.
//
// If a kernel distributes only the blocks of one product, the blocks that run at the same time should share
// rows and columns, which then stay in the cache. A core therefore processes every n-th block, where n is the
// number of cores. Blocks are numbered in groups of rows, and column by column within a group.
//
//   spmd (%i: block<i> in …, %j: …) { … }
//   ->  loop %n in core .. count i * count j step cores {
//         %r = n rem (16 count j) ; %h = min(16, count i - n div (16 count j) * 16)
//         %i = make_block …, n div (16 count j) * 16 + r rem h
//         %j = make_block …, r div h ; … }

namespace kdl::simt {

namespace {

/// Returns whether the kernel distributes only the blocks of one product of two tiles to cores. The product's
/// result must have the last two axes of `spmd`.
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
  Distributor(PassContext& context, ir::Function& kernel)
      : kernel_(kernel),
        b_(context.module),
        facts_(SimtFactsOf(context)),
        group_rows_(context.Value(kGroupRows)) {}

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
    // If the loop does not carry the position of the block along each axis, these positions are computed from
    // the number of the block, which counts all blocks.
    bool walks = facts_.walks_blocks && counts.size() > 1;
    Values firsts = walks ? BlockNumbers(share.begin, counts) : Values();
    MakeLoop(b_, {share.begin, share.end}, firsts, [&](Value* block, const Values& carried) {
      Values numbers = walks ? carried : BlockNumbers(block, counts);
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
  /// Returns the count, or 1 if it is 0, so that later code can divide by it without a check. This changes no
  /// result, because a count is 0 only if there are no blocks at all.
  Value* AtLeastOne(Value* count) { return b_.Max(count, b_.I64(1)); }

  /// Moves the body of `spmd` into the loop at the builder's position.
  void EnterBlock(Op* spmd, std::vector<BlockRange>& ranges, const Values& numbers) {
    const std::vector<Value*> binders = spmd->region()->params();
    b_.region()->parent()->SetAttr(ir::MakeAttr<AttrKey::Blocks>(1));
    for (size_t i = 0; i < binders.size(); ++i) ReplaceBinder(binders[i], ranges[i], numbers[i]);
    MoveOps(spmd->region(), b_.region());
  }

  /// Returns the position of the block along each axis. Along the last two axes, blocks are numbered in
  /// groups of rows.
  Values NumbersInGroups(const Op* spmd, Value* block, const Values& counts) {
    size_t at = counts.size() - 2;
    const Value* binder = spmd->region()->param(at);
    Value* most = b_.I64(std::max<int64_t>(group_rows_ / BlockExtent(kernel_, binder), 1));
    Value* layer = AtLeastOne(b_.Mul(counts[at], counts[at + 1]));
    Values outer(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(at));
    Values numbers;
    if (!outer.empty()) {
      numbers = BlockNumbers(b_.Div(block, layer), outer);
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

  /// Returns the position of the block along each axis. `block` is its number among all blocks.
  Values BlockNumbers(Value* block, const Values& counts) {
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

  /// Returns the position of the next block along each axis. The position along the last axis advances by
  /// one. If an axis has reached its end, it restarts at 0, and the axis before it advances.
  Values NextNumbers(const Op* spmd, std::vector<BlockRange>& ranges, const Values& numbers) {
    Values next(numbers.size());
    Value* moves = nullptr;  // whether all later axes are at their ends; null if there are none
    for (size_t i = numbers.size(); i-- > 0;) {
      Value* after = b_.Add(numbers[i], b_.I64(1));
      // The end of the block is compared with the end of the axis, so that the number of blocks along the
      // axis needs no register.
      Value* is_last = i > 0 ? IsLast(spmd->operand(2 * i + 1), ranges[i], numbers[i]) : nullptr;
      next[i] = is_last ? b_.Select(is_last, b_.I64(0), after) : after;
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
  int64_t group_rows_;
};

bool HasCoreNum(Size size) {
  if (!size) return false;
  if (size->kind == SizeKind::Symbol) return size->symbol.text() == ir::kCoreNum;
  return HasCoreNum(size->lhs) || HasCoreNum(size->rhs);
}

/// Returns whether the source of the kernel uses `core_num`, so that its results may depend on it.
bool UsesCoreNum(const ir::Function& kernel) {
  bool uses = std::ranges::any_of(kernel.axes, [](const ir::Axis& axis) {
    return HasCoreNum(axis.extent) || HasCoreNum(axis.domain);
  });
  ir::Walk(kernel.body, [&](const Op* op) {
    uses |= op->kind() == OpKind::CoreNum;
    for (const Value* result : op->results())
      uses |= std::ranges::any_of(result->type()->dims, HasCoreNum);
  });
  return uses;
}

}  // namespace

void RunDistributeConsecutiveBlocks(PassContext& context, ir::Function& kernel) {
  Distributor distributor(context, kernel);
  ir::Builder builder(context.module);
  if (!UsesCoreNum(kernel)) {
    StateBusyCores(builder, kernel, [&](const Op* op, size_t binder) {
      int64_t extent = BlockExtent(kernel, op->region()->param(binder));
      return context.module.types().sizes().Constant(extent);
    });
  }
  for (Op* op : OpsOfKind(kernel, OpKind::For)) distributor.For(op);
  for (Op* op : OpsOfKind(kernel, OpKind::Spmd)) distributor.Spmd(op);
}

}  // namespace kdl::simt
