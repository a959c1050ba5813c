#include "targets/simt/rings/mbarrier_pipeline.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/lookup.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/simt/analysis/iteration_needs.h"
#include "targets/simt/rings/ring_loop.h"
#include "targets/simt/rings/thread_pipeline.h"

// Tile copies for which threads wait at mbarriers. The tiles that one workgroup loop reads use the same slot number in
// all of their rings, and each slot number has two mbarriers. `full` signals that the tiles have arrived, and `empty`
// that all threads have finished reading them.
//
// If a loop only multiplies, an iteration begins its matrix instructions, waits for those of the previous iteration,
// releases the slots of the previous iteration, and begins the copies for a later one:
//
//   mbarrier_init %full {arrivals = 2} ; mbarrier_init %empty {arrivals = 256} ; barrier
//   loop %n in 0 .. 3 { … iterations 0, 1, 2 as below, without waits }
//   loop %k in 0 .. %K step 64 {                            iteration n = k / 64, slot s = n rem 4
//     loop {threads} { mbarrier_wait %full[s] phase n / 4
//                      … = mma %A, %B … slots (s, s) … ; mma_commit
//                      mma_wait (%acc) {ahead = 1} ; if n > 0 { mbarrier_arrive %empty[(n - 1) rem 4] } }
//     if (iteration n + 3 exists) {
//       if tile_copy_fits %a … {
//         loop 0 .. 1 {threads} { if n > 0 { mbarrier_wait %empty[(n - 1) rem 4] … } ; async_copy … at %full } }
//       else { … ; proxy_fence ; barrier ; loop 0 .. 1 {threads} { mbarrier_arrive %full[…] } } … } }
//   loop {threads} { mma_wait (%acc) {ahead = 0} } ; barrier ; … mbarrier_invalidate %full, %empty
//
// If it is in a loop over blocks, the mbarriers stay valid, and iterations are counted over all blocks of the core.
// After the loop, the copies for the first iterations of the next block begin, so that they run while threads finish
// the current block.
//
// In other loops, as in attention, the code after a product reads its result. Each iteration then begins with the
// copies for a later one, and waits for its own matrix instructions before it releases its slots.

namespace kdl::simt {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;
using passes::ConstantOf;
using passes::MakeIf;
using passes::MakeWorkgroupLoop;
using passes::OnFirstThread;

namespace {

/// The tiles that a workgroup loop reads, and their mbarriers.
struct TileGroup {
  Op* reader;
  std::vector<const Fetched*> tiles = {};
  std::vector<Value*> rings = {};
  Value* full = nullptr;
  Value* empty = nullptr;
};

std::vector<TileGroup> GroupsOf(std::span<const Fetched> all) {
  std::vector<TileGroup> groups;
  for (const Fetched& fetched : all) {
    auto same = std::ranges::find(groups, fetched.reader, &TileGroup::reader);
    TileGroup& group = same == groups.end() ? groups.emplace_back(fetched.reader) : *same;
    group.tiles.push_back(&fetched);
  }
  return groups;
}

int64_t ThreadsOf(const Op* reader) { return *ConstantOf(reader->operand(ir::LoopOp::at_hi)); }

/// Returns the op that waits for the last matrix instructions of the workgroup loop.
Op* LastWait(const Op* reader) {
  Op* last = nullptr;
  for (Op* op : *reader->region()) {
    if (op->kind() == OpKind::MmaWait) last = op;
  }
  return last;
}

/// Returns whether the op is the last one in its region.
bool IsLast(const Op* op) { return op->next()->info().has(ir::kTerminator); }

/// Returns whether a thread may leave a block at the op, while others wait for it. The number of a block is divided by
/// numbers of blocks that are at least 1, which traps nowhere.
bool MayLeave(const Op* op) {
  bool divides = op->kind() == OpKind::Div || op->kind() == OpKind::Rem;
  const Op* divisor = divides ? op->operand(1)->def() : nullptr;
  bool is_positive = divisor && divisor->kind() == OpKind::Max &&
                     std::ranges::any_of(divisor->operands(), [](const Value* least) {
                       return ConstantOf(least).value_or(0) > 0;
                     });
  return passes::MayTrap(op) && !is_positive;
}

/// Rewrites one loop.
class MbarrierPipeline {
 public:
  MbarrierPipeline(ir::Module& module, Op* loop, std::span<const Fetched> all, int64_t ahead)
      : b_(module),
        loop_(loop),
        groups_(GroupsOf(all)),
        only_multiplies_(OnlyMultiplies(loop, all)),
        is_deferred_(only_multiplies_ && IsLast(LastWait(groups_[0].reader))),
        ring_(b_, loop, ahead) {}

  void Rewrite() {
    FindBlocks();
    b_.SetInsertionPoint(blocks_ ? blocks_ : loop_);
    Value* zero = b_.I64(0);
    Open();
    blocks_ ? BeginBlocks(zero) : FirstIterations(zero, {}, false);
    Op* first = loop_->region()->first();
    b_.SetInsertionPoint(blocks_ ? loop_ : first);
    Value* before = blocks_ ? IterationsBefore() : nullptr;
    b_.SetInsertionPoint(first);
    ring_.NumberIterations(before);
    if (only_multiplies_) b_.SetInsertionPoint(loop_->region()->terminator());
    ring_.IterationAhead([&](const RingIteration& later) { Fetch(later, {}, AwaitPrevious()); });
    b_.SetInsertionPoint(loop_->parent_region(), loop_->next());
    if (is_deferred_) AwaitLast(before);
    if (blocks_) BeginNextBlock(before);
    b_.SetInsertionPoint((blocks_ ? blocks_ : loop_)->parent_region(),
                         blocks_ ? blocks_->next() : b_.before());
    Close();
    for (const TileGroup& group : groups_) Read(group);
    EraseUnused();
  }

 private:
  /// Waits, on behalf of a tile, until the slot is free.
  using AwaitFree = std::function<void(const TileGroup& group)>;

  // -- Mbarriers ----------------------------------------------------------------------------------

  Value* NewMbarriers(std::string_view name) {
    ir::Type type = b_.types().Buffer(Scalar::U64, {ring_.slots()}, ir::Space::Workgroup);
    Value* made =
        b_.Create(OpKind::BufferNew, {}, {type}, {ir::MakeAttr<AttrKey::MbarrierOrdered>(1)})
            ->result();
    made->set_name(b_.module().context().names.Intern(name));
    return made;
  }

  Value* Slot(Value* number) { return b_.Rem(number, b_.I64(ring_.slots())); }

  /// Waits for the phase that the iteration with this number completes.
  void Await(Value* mbarriers, Value* number) {
    Value* slot = Slot(number);
    Value* phase = b_.Div(number, b_.I64(ring_.slots()));
    b_.Create(OpKind::MbarrierWait, {{mbarriers}, {slot}, {phase}}, {});
  }

  void Arrive(Value* mbarriers, Value* number) {
    b_.Create(OpKind::MbarrierArrive, {{mbarriers}, {Slot(number)}}, {});
  }

  void Open() {
    for (TileGroup& group : groups_) {
      for (const Fetched* tile : group.tiles) {
        Value* ring = ring_.NewRing(tile->buffer->result());
        ring->def()->SetAttr(ir::MakeAttr<AttrKey::MbarrierOrdered>(1));
        group.rings.push_back(ring);
      }
      group.full = NewMbarriers("full");
      group.empty = NewMbarriers("empty");
    }
    OnFirstThread(b_, [&] {
      for (const TileGroup& group : groups_) {
        Init(group.full, std::ssize(group.tiles));
        Init(group.empty, ThreadsOf(group.reader));
      }
    });
    b_.Create(OpKind::Barrier, {}, {});
  }

  void Init(Value* mbarriers, int64_t arrivals) {
    b_.Create(OpKind::MbarrierInit, {{mbarriers}}, {}, {ir::MakeAttr<AttrKey::Arrivals>(arrivals)});
  }

  void Close() {
    b_.Create(OpKind::Barrier, {}, {});
    OnFirstThread(b_, [&] {
      for (const TileGroup& group : groups_) {
        for (Value* mbarriers : {group.full, group.empty})
          b_.Create(OpKind::MbarrierInvalidate, {{mbarriers}}, {});
      }
    });
  }

  // -- Copies -------------------------------------------------------------------------------------

  /// Emits, at the builder's position, the fetch of all tiles for an iteration. `map` has values that replace those of
  /// the current block.
  void Fetch(const RingIteration& iteration, ir::ValueMap map, const AwaitFree& await_free) {
    map[ring_.current().at] = iteration.at;
    for (const TileGroup& group : groups_) {
      for (size_t i = 0; i < group.tiles.size(); ++i)
        FetchTile(group, i, iteration, map, await_free);
    }
  }

  void FetchTile(const TileGroup& group, size_t number, const RingIteration& iteration,
                 ir::ValueMap& map, const AwaitFree& await_free) {
    const Fetched& tile = *group.tiles[number];
    const std::vector<ir::Use> before = tile.buffer->result()->uses();
    RepeatOps(b_, tile, map);
    const Op* made = ir::Clone(tile.fetch, b_, map);
    MoveNewUses(tile, before, group.rings[number], iteration.slot);
    ir::Region* region = b_.region();
    Op* next = b_.before();
    ir::Walk(made->region(0), [&](Op* op) {
      if (op->kind() != OpKind::AsyncCopy) return;
      op->SetSegment(ir::AsyncCopyOp::at_mbarriers, std::vector<Value*>{group.full});
      b_.SetInsertionPoint(op->parent_region()->first());
      // One wait of the first thread is enough for all tiles of the group. The first tile always waits, however it is
      // copied.
      if (number == 0) await_free(group);
    });
    b_.SetInsertionPoint(made->region(1)->first());
    await_free(group);
    b_.SetInsertionPoint(made->region(1)->terminator());
    OnFirstThread(b_, [&] { Arrive(group.full, iteration.number); });
    b_.SetInsertionPoint(region, next);
  }

  static AwaitFree AwaitNothing() {
    return [](const TileGroup&) {};
  }

  /// An iteration fills the slots that the previous one has used.
  AwaitFree AwaitPrevious() {
    return [this](const TileGroup& group) {
      Value* number = ring_.current().number;
      MakeIf(b_, b_.Gt(number, b_.I64(0)), [&] { Await(group.empty, b_.Sub(number, b_.I64(1))); });
    };
  }

  void FirstIterations(Value* before, const ir::ValueMap& map, bool waits) {
    auto fetch = [&](const RingIteration& iteration) {
      auto await_earlier = [&](const TileGroup& group) {
        Value* slots = b_.I64(ring_.slots());
        MakeIf(b_, b_.Ge(iteration.number, slots),
               [&] { Await(group.empty, b_.Sub(iteration.number, slots)); });
      };
      Fetch(iteration, map, waits ? AwaitFree(await_earlier) : AwaitNothing());
    };
    ring_.FirstIterations(fetch, before);
  }

  // -- Matrix instructions ------------------------------------------------------------------------

  /// Lets the workgroup loop wait for its tiles, and release their slots.
  void Read(const TileGroup& group) {
    const RingIteration& now = ring_.current();
    b_.SetInsertionPoint(group.reader->region()->first());
    Await(group.full, now.number);
    Op* wait = LastWait(group.reader);
    b_.SetInsertionPoint(wait->parent_region(), wait->next());
    if (is_deferred_) {
      wait->SetAttr(ir::MakeAttr<AttrKey::Ahead>(1));
      MakeIf(b_, b_.Gt(ring_.here(), b_.I64(0)),
             [&] { Arrive(group.empty, b_.Sub(now.number, b_.I64(1))); });
    } else {
      Arrive(group.empty, now.number);
    }
    for (size_t i = 0; i < group.tiles.size(); ++i)
      ReplaceBuffer(*group.tiles[i], group.rings[i], now.slot);
  }

  /// Waits for the matrix instructions of the last iteration. If the next block reuses the mbarriers, the slots of this
  /// iteration must also be released.
  void AwaitLast(Value* before) {
    const TileGroup& group = groups_[0];
    std::vector<Value*> registers = LastWait(group.reader)->operands();
    Value* zero = b_.I64(0);
    Value* all = b_.I64(ThreadsOf(group.reader));
    MakeWorkgroupLoop(b_, {zero, all}, [&](Value*) {
      b_.Create(OpKind::MmaWait, {registers}, {}, {ir::MakeAttr<AttrKey::Ahead>(0)});
      if (!blocks_) return;
      MakeIf(b_, b_.Lt(Bound(ir::LoopOp::at_lo), Bound(ir::LoopOp::at_hi)), [&] {
        Value* after = b_.Add(before, iterations_);
        Arrive(group.empty, b_.Sub(after, b_.I64(1)));
      });
    });
  }

  /// Erases the ops that computed where the iteration's own tiles are.
  void EraseUnused() {
    std::unordered_set<const Op*> of_tiles;
    for (const TileGroup& group : groups_) {
      for (const Fetched* tile : group.tiles) of_tiles.insert(tile->ops.begin(), tile->ops.end());
    }
    auto is_unused = [](const Value* result) { return result->uses().empty(); };
    for (Op* op = loop_->region()->last(); op;) {
      Op* before = op->prev();
      if (of_tiles.contains(op) && std::ranges::all_of(op->results(), is_unused)) ir::Erase(op);
      op = before;
    }
  }

  // -- Blocks -------------------------------------------------------------------------------------

  Value* Bound(size_t bound) const { return loop_->operand(bound); }

  /// Finds the loop over blocks in all of whose iterations the loop can use the same mbarriers.
  void FindBlocks() {
    Op* blocks = loop_->parent_region()->parent();
    bool can = only_multiplies_ && blocks && blocks->kind() == OpKind::Loop &&
               blocks->HasAttr(AttrKey::Blocks) && blocks->results().empty();
    if (!can) return;
    for (size_t bound : {ir::LoopOp::at_lo, ir::LoopOp::at_hi, ir::LoopOp::at_step})
      can &= !passes::IsInside(Bound(bound), blocks) || ConstantOf(Bound(bound));
    const ir::Region* kernel = blocks->parent_region()->function()->body;
    can &= !ir::AnyBelow(kernel, MayLeave);
    for (const TileGroup& group : groups_) {
      for (const Fetched* tile : group.tiles) {
        can = can && AddSlice(blocks, tile->fetch, of_block_);
        for (const Op* op : tile->ops) can = can && AddSlice(blocks, op, of_block_);
      }
    }
    if (can) blocks_ = blocks;
  }

  /// Emits the code before the loop over blocks.
  void BeginBlocks(Value* zero) {
    for (size_t bound : {ir::LoopOp::at_lo, ir::LoopOp::at_hi, ir::LoopOp::at_step}) {
      if (passes::IsInside(Bound(bound), blocks_))
        loop_->SetOperand(bound, b_.I64(*ConstantOf(Bound(bound))));
    }
    Value* lo = Bound(ir::LoopOp::at_lo);
    Value* hi = Bound(ir::LoopOp::at_hi);
    Value* step = Bound(ir::LoopOp::at_step);
    Value* way = b_.Add(b_.Sub(hi, lo), step);
    Value* iterations = b_.Div(b_.Sub(way, b_.I64(1)), step);
    iterations_ = b_.Select(b_.Lt(lo, hi), iterations, b_.I64(0));
    Value* first = blocks_->operand(ir::LoopOp::at_lo);
    MakeIf(b_, b_.Lt(first, blocks_->operand(ir::LoopOp::at_hi)),
           [&] { BeginBlock(first, zero, false); });
  }

  /// Begins the copies for the first iterations of `block`, which is not the current block.
  void BeginBlock(Value* block, Value* before, bool waits) {
    ir::ValueMap map = {{blocks_->region()->param(0), block}};
    for (const Op* op : of_block_) ir::Clone(op, b_, map);
    FirstIterations(before, map, waits);
  }

  /// Returns the number of iterations in earlier blocks of the core.
  Value* IterationsBefore() {
    Value* way = b_.Sub(blocks_->region()->param(0), blocks_->operand(ir::LoopOp::at_lo));
    return b_.Mul(b_.Div(way, blocks_->operand(ir::LoopOp::at_step)), iterations_);
  }

  void BeginNextBlock(Value* before) {
    Value* block = blocks_->region()->param(0);
    Value* step = blocks_->operand(ir::LoopOp::at_step);
    Value* after = b_.Add(before, iterations_);
    Value* goes_on = b_.Lt(step, b_.Sub(blocks_->operand(ir::LoopOp::at_hi), block));
    MakeIf(b_, goes_on, [&] { BeginBlock(b_.Add(block, step), after, true); });
  }

  ir::Builder b_;
  Op* loop_;
  std::vector<TileGroup> groups_;
  bool only_multiplies_;
  /// Whether each iteration waits for the matrix instructions of the previous one, not for its own.
  bool is_deferred_;
  RingLoop ring_;
  Op* blocks_ = nullptr;         ///< the loop over blocks that shares the mbarriers, or null
  std::vector<Op*> of_block_;    ///< the ops that compute the locations of a block's tiles
  Value* iterations_ = nullptr;  ///< the number of iterations of the loop, in each block
};

}  // namespace

bool OnlyMultiplies(const Op* loop, std::span<const Fetched> all) {
  const Op* reader = all[0].reader;
  for (const Op* op : *loop->region()) {
    bool fetches = std::ranges::find(all, op, &Fetched::fetch) != all.end();
    bool is_simple = op->regions().empty() && !op->info().has(ir::kActs);
    if (op != reader && !fetches && !is_simple) return false;
  }
  return std::ranges::all_of(all, [&](const Fetched& tile) { return tile.reader == reader; });
}

void PipelineMbarriers(ir::Module& module, Op* loop, std::span<const Fetched> all, int64_t ahead) {
  MbarrierPipeline(module, loop, all, ahead).Rewrite();
}

}  // namespace kdl::simt
