#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "ir/views.h"
#include "passes/rewriting/block_loops.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/cpu/passes.h"
#include "targets/cpu/tile_selector.h"
#include "targets/cpu/walks.h"

// distribute-blocks: numbers the blocks of each `spmd`, and gives each core a consecutive range of these
// numbers. So most adjacent blocks, which share cache lines, are processed by the same core, and a core uses
// the data that it prefetches. The induction variable that indexes the outermost dimension of the stored
// tensors varies slowest, unless the option `order` says otherwise. A `for` over blocks becomes a loop over the starts of the blocks.
//
//   spmd (%i: block<i> in %lo .. %hi) { … }
//   ->  %count = the number of blocks in lo .. hi
//       %begin .. %end: the core's share; the first cores may have one block more
//       loop %n in %begin .. %end step 1 {
//         %start = lo + n * extent
//         %i = make_block %start, min(extent, hi - start), n ; … }
//   for %k: block<k> in %lo .. %hi { … }
//   ->  loop %start in %lo .. %hi step extent { %k = make_block … }
//
// With dynamic scheduling, any free core processes the next block: cores get the numbers of their blocks from
// a counter of the launch.
//
//   spmd (%i: block<i> in %lo .. %hi) {distribute = dynamic} { … }
//   ->  loop %n in 0 .. %count step 1 {dynamic_counter = 0} { … }
//
// If no result depends on the length of an spmd's blocks, the blocks are made equally long, and short enough
// that there are blocks for all cores. Blocks whose rows are read several times are made shorter if the rows
// would otherwise not stay in the L1 cache, unless they are rows of a product. Blocks whose tiles cover whole dimensions have as many rows as fit
// into the caches with the sizes at launch. If a row takes several iterations of a loop, blocks have one row,
// so that memory is read in longer contiguous runs.
//
// If cores without blocks do nothing at all, the op `busy_cores` states the maximum number of blocks, so that
// a launch uses no more cores than that. The option `cores` lets only the first cores get blocks.
//
// The number of blocks is correct for every lo and hi. If lo may be negative, hi - lo is computed as a u64.
//
// Numbers and counts of blocks are not negative, and no count is 0 where a number is divided by it. Code generators do not know
// that, so `max` says it: they need not round down then, or test the divisor.

namespace kdl::cpu {

namespace {

class Distributor {
 public:
  Distributor(ir::Module& module, ir::Function& kernel, const ProcessorFacts& facts,
              std::optional<int64_t> most_cores)
      : kernel_(kernel), facts_(facts), builder_(module), most_cores_(most_cores) {
    for (const Op* op : *kernel.body) has_stages_ |= op->kind() == OpKind::Stage;
  }

  void Spmd(Op* op, const Walk& walk) {
    const std::vector<Value*> binders = op->region()->params();
    builder_.StandAt(op);
    Value* core_id = builder_.CoreId();
    Value* core_num = builder_.CoreNum();
    if (most_cores_) core_num = builder_.Min(core_num, builder_.I64(*most_cores_));
    std::vector<Value*> sizes = BlockSizes(op, walk, core_num);
    std::vector<BlockRange> ranges;
    std::vector<Value*> counts;
    Value* total = nullptr;
    for (size_t b = 0; b < binders.size(); ++b) {
      ranges.emplace_back(builder_, op->operand(2 * b), op->operand(2 * b + 1), sizes[b]);
      counts.push_back(ranges.back().Count());
      SetName(counts.back(), binders[b], "count");
      total = total ? builder_.Mul(total, counts.back()) : counts.back();
    }
    Op* loop =
        op->attr<AttrKey::Distribute>() == ir::DistributionKind::Dynamic
            ? MakeDynamicLoop(op, total)
            : MakeShareLoop(builder_, op, core_id, AtLeastZero(TotalFor(core_id, total)), core_num);

    Value* rest = loop->region()->param(0);
    std::vector<Value*> numbers(binders.size());
    for (size_t at = binders.size(); at-- > 0;) {
      size_t b = walk.order[at];
      if (at == 0) {
        numbers[b] = rest;
        continue;
      }
      Value* count = counts[b];
      // A count that becomes a constant, such as 1, must leave the number of the block as it is.
      if (!ConstantOf(op->operand(2 * b)) || !ConstantOf(op->operand(2 * b + 1))) {
        rest = AtLeastZero(rest);
        count = AtLeastOne(count);
      }
      numbers[b] = builder_.Rem(rest, count);
      rest = builder_.Div(rest, count);
    }
    for (size_t b = 0; b < binders.size(); ++b) {
      Value* value = ranges[b].Start(numbers[b]);
      if (binders[b]->type()->kind == ir::TypeKind::Block) {
        SetName(value, binders[b], "start");
        value = MakeBlock(value, ranges[b].SizeAt(value), numbers[b], binders[b]);
      } else {
        value->set_name(binders[b]->name());
      }
      binders[b]->ReplaceAllUsesWith(value);
    }
    MoveOps(op->region(), loop->region());
    ir::Erase(op);
  }

  void For(Op* op) {
    ir::ForOp loop_over_blocks(op);
    Value* binder = op->region()->param(0);
    builder_.StandAt(op);
    Value* extent = builder_.I64(BinderExtent(binder));
    BlockRange range(builder_, loop_over_blocks.lo(), loop_over_blocks.hi(), extent);
    Op* loop = MakeLoopInPlace(builder_, op, loop_over_blocks.lo(), loop_over_blocks.hi(), extent);
    Value* start = loop->region()->param(0);
    start->set_name(binder->name().empty() ? Name()
                                           : builder_.module().context().names.Intern(
                                                 binder->name().str() + ".start"));
    Value* size = range.SizeAt(start);
    Value* block = MakeBlock(start, size, range.BlockIndex(start), binder);
    binder->ReplaceAllUsesWith(block);
    MoveOps(op->region(), loop->region());
    ir::Erase(op);
  }

  /// Returns the length of the shortest blocks that `BlockSizes` may choose for the binder (an induction
  /// variable of an spmd).
  int64_t LeastLength(const Walk& walk, size_t b, const Value* binder) const {
    return walk.rereads[b].empty() && walk.row_loops[b].empty()
               ? std::min(walk.granule[b], BinderExtent(binder))
               : 1;
  }

 private:
  /// Returns the number of blocks that are distributed, from the point of view of a core: none for cores that get no
  /// blocks because of the option `cores`.
  Value* TotalFor(Value* core_id, Value* total) {
    if (!most_cores_) return total;
    Value* gets_blocks = builder_.Lt(core_id, builder_.I64(*most_cores_));
    return builder_.Select(gets_blocks, total, builder_.I64(0));
  }

  /// Names the value after the induction variable `binder` and the value's meaning, for example `i.count`.
  void SetName(Value* value, const Value* binder, std::string_view what) {
    if (binder->name().empty() || !value->name().empty() || !value->def()) return;
    std::string name = binder->name().str() + "." + std::string(what);
    value->set_name(builder_.module().context().names.Intern(name));
  }

  Value* MakeBlock(Value* start, Value* size, Value* index, const Value* binder) {
    SetName(size, binder, "size");
    Value* block = builder_.Make(OpKind::MakeBlock, {start, size, index}, binder->type());
    block->set_name(binder->name());
    return block;
  }

  /// Replaces `op` by a loop over all blocks. Each iteration is executed by the core that gets its number
  /// from the counter.
  Op* MakeDynamicLoop(Op* op, Value* total) {
    Value* zero = builder_.I64(0);
    Op* loop = MakeLoopInPlace(builder_, op, zero, total, builder_.I64(1));
    loop->SetAttr(ir::MakeAttr<ir::AttrKey::DynamicCounter>(dynamic_counters_++));
    return loop;
  }

  Value* CeilDiv(Value* a, Value* b) {
    Value* one = builder_.I64(1);
    Value* last = AtLeastZero(builder_.Sub(builder_.Add(a, b), one));
    return builder_.Div(last, AtLeastOne(b));
  }

  /// Returns the number of rows, at most `size` and at least 1, that stay in the L1 cache between two passes
  /// over them.
  Value* InNearestCache(Value* size, const std::vector<Rereads::Rows>& again) {
    constexpr int64_t kShare = 2;  // half of the cache, because other data passes through it
    Value* bytes = builder_.I64(0);
    for (const Rereads::Rows& rows : again)
      bytes = builder_.Add(bytes, BytesPerIndex(builder_, rows.tensor, rows.dim));
    Value* cache = builder_.I64(facts_.l1_bytes / kShare);
    Value* fitting = builder_.Div(cache, AtLeastOne(bytes));
    return builder_.Min(size, AtLeastOne(fitting));
  }

  /// Returns the number of rows, at most `size`, whose tiles fit into a third of the memory for which blocks are
  /// selected, but at least a granule. Long rows gain nothing from larger blocks, and the tensors from which they
  /// are read should stay in the L1 cache, too.
  Value* FittingRows(Value* size, const std::vector<RowTile>& tiles, Value* granule) {
    Value* bytes = builder_.I64(0);
    for (const RowTile& tile : tiles) {
      Value* row = builder_.I64(tile.bytes);
      for (Value* length : tile.sizes) row = builder_.Mul(row, length);
      bytes = builder_.Add(bytes, row);
    }
    Value* budget = builder_.I64(StreamedTileBudget(facts_) / 3);
    Value* fitting = builder_.Div(budget, AtLeastOne(bytes));
    Value* granules = AtLeastOne(builder_.Div(fitting, granule));
    return builder_.Min(size, builder_.Mul(granules, granule));
  }

  /// Returns `size`, or 1 if the loop along the rows has more than one iteration.
  Value* OneWhereLong(Value* size, const Iterations& along) {
    auto here = [&](Value* end) {
      std::optional<int64_t> constant = ConstantOf(end);
      return constant ? builder_.I64(*constant) : end;
    };
    Value* extent = builder_.I64(along.extent);
    Value* hi = here(along.hi);
    Value* lo = here(along.lo);
    BlockRange range(builder_, lo, hi, extent);
    Value* one = builder_.I64(1);
    Value* is_long = builder_.Lt(one, range.Count());
    return builder_.Select(is_long, one, size);
  }

  /// Returns the size of each binder's blocks. If no result depends on the size, the blocks are made equally
  /// long. They are also made shorter than their axis allows if that gives every core work, but not shorter
  /// than a granule (the smallest efficient length).
  std::vector<Value*> BlockSizes(Op* op, const Walk& walk, Value* core_num) {
    const std::vector<Value*>& binders = op->region()->params();
    std::vector<Value*> sizes;
    std::vector<Value*> counts;
    auto count_of = [&](size_t b) {
      BlockRange range(builder_, op->operand(2 * b), op->operand(2 * b + 1), sizes[b]);
      return AtLeastOne(range.Count());
    };
    for (size_t b = 0; b < binders.size(); ++b) {
      sizes.push_back(builder_.I64(BinderExtent(binders[b])));
      counts.push_back(count_of(b));
    }
    for (size_t b : walk.order) {
      if (!walk.free[b] || LeastLength(walk, b, binders[b]) == BinderExtent(binders[b])) continue;
      Value* granule = builder_.I64(std::min(walk.granule[b], BinderExtent(binders[b])));
      auto equal = [&]() -> std::vector<Value*> {
        return {EqualSize(op, walk, b, granule, sizes[b], counts, core_num)};
      };
      if (has_stages_) {  // stages compute such values again, which is only possible without branches
        sizes[b] = equal()[0];
      } else {  // one core that runs one block needs no shorter one
        Value* several = builder_.Gt(builder_.Max(core_num, counts[b]), builder_.I64(1));
        sizes[b] = passes::MakeIf(builder_, several, {builder_.I64Type()}, equal,
                                  [&]() -> std::vector<Value*> { return {sizes[b]}; })[0];
      }
      if (!walk.row_tiles[b].tiles.empty())
        sizes[b] = FittingRows(sizes[b], walk.row_tiles[b].tiles, granule);
      if (!walk.rereads[b].empty()) sizes[b] = InNearestCache(sizes[b], walk.rereads[b]);
      if (facts_.asks_for_reads) {
        for (const Iterations& along : walk.row_loops[b]) sizes[b] = OneWhereLong(sizes[b], along);
      }
      counts[b] = count_of(b);
    }
    return sizes;
  }

  /// Returns the size of binder b's blocks, at most `size` and a multiple of `granule`, if all are equally long, and
  /// all cores get equally many. `counts` are the numbers of blocks of all binders before.
  Value* EqualSize(Op* op, const Walk& walk, size_t b, Value* granule, Value* size,
                   const std::vector<Value*>& counts, Value* core_num) {
    BlockRange range(builder_, op->operand(2 * b), op->operand(2 * b + 1), size);
    Value* length = AtLeastOne(range.Length());
    // Aim for a total number of blocks that is a multiple of the number of cores, as far as granules allow.
    // (If the numbers overflow, the size is a poor choice, but still at least 1.)
    Value* others = builder_.I64(1);
    for (size_t o = 0; o < counts.size(); ++o)
      if (o != b) others = builder_.Mul(others, counts[o]);
    Value* iterations = CeilDiv(builder_.Mul(others, counts[b]), core_num);
    Value* wanted = CeilDiv(builder_.Mul(iterations, core_num), others);
    if (walk.narrow && b == walk.order[0])
      wanted = builder_.Max(wanted, builder_.Max(counts[b], core_num));
    Value* most = builder_.Max(CeilDiv(length, granule), counts[b]);
    Value* count = AtLeastOne(builder_.Min(wanted, most));
    Value* granules = CeilDiv(CeilDiv(length, count), granule);
    return AtLeastOne(builder_.Min(size, builder_.Mul(granules, granule)));
  }

  int64_t BinderExtent(const Value* binder) const { return BlockExtent(kernel_, binder); }
  Value* AtLeastZero(Value* a) { return AtLeast(0, a); }
  Value* AtLeastOne(Value* a) { return AtLeast(1, a); }
  Value* AtLeast(int64_t least, Value* a) {
    const Op* def = a->def();
    bool is_core_num = def && def->kind() == OpKind::CoreNum;
    bool is_max = def && def->kind() == OpKind::Max && ConstantOf(def->operand(1)) >= least;
    return is_core_num || is_max || ConstantOf(a) >= least ? a
                                                           : builder_.Max(a, builder_.I64(least));
  }

  ir::Function& kernel_;
  const ProcessorFacts& facts_;
  ir::Builder builder_;
  std::optional<int64_t> most_cores_;
  int64_t dynamic_counters_ = 0;
  bool has_stages_ = false;
};

/// Applies the option `order`.
void SetOrder(Walk& walk, int64_t order) {
  if (order == 0) return;
  std::iota(walk.order.begin(), walk.order.end(), 0);
  if (order == 2) std::ranges::reverse(walk.order);
}

/// States for each op `busy_cores` that at most the first `cores` cores have blocks.
void LimitBusyCores(SizeTable& sizes, ir::Function& kernel, int64_t cores) {
  for (Op* op : OpsOfKind(kernel, OpKind::BusyCores)) {
    Size fewer = sizes.Binary(SizeKind::Min, op->attr<AttrKey::Size>(), sizes.Constant(cores));
    op->SetAttr(ir::MakeAttr<AttrKey::Size>(fewer));
  }
}

}  // namespace

void RunDistributeBlocks(PassContext& context, ir::Function& kernel) {
  int64_t cores = context.Value(kMostCores);
  std::optional<int64_t> most_cores =
      cores == kMostCores.most ? std::nullopt : std::optional(cores);
  Distributor distributor(context.module, kernel, ProcessorFactsOf(context), most_cores);
  Walks walks = BlockOrdersOf(kernel, ProcessorFactsOf(context));
  for (auto& [op, walk] : walks) SetOrder(walk, context.Value(kBlockOrder));
  ir::Builder builder(context.module);
  StateBusyCores(builder, kernel, [&](const Op* op, size_t b) {
    auto of_op = [&](const auto& walk) { return walk.first == op; };
    const Walk& walk = std::ranges::find_if(walks, of_op)->second;
    int64_t least = distributor.LeastLength(walk, b, op->region()->param(b));
    return context.module.types().sizes().Constant(least);
  });
  if (most_cores) LimitBusyCores(context.module.types().sizes(), kernel, *most_cores);
  for (Op* op : OpsOfKind(kernel, OpKind::For)) distributor.For(op);
  for (const auto& [op, walk] : walks) distributor.Spmd(op, walk);
}

}  // namespace kdl::cpu
