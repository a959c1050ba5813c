#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/cpu/analysis/register_block.h"
#include "targets/cpu/analysis/sliding_window.h"
#include "targets/cpu/analysis/small_numbers.h"
#include "targets/cpu/instructions.h"
#include "targets/cpu/passes.h"
#include "targets/cpu/split_reduction.h"

// block-products: splits each reduction that adds in sequential order into blocks. The accumulators of a
// block stay in registers while the code loops over the reduced axes. A block covers some rows of the result,
// and some vectors along the result's last axis; the loop over columns encloses the loop over rows. Smaller
// blocks process the remaining rows; the last of them may be only partly filled. Single vectors process the
// remaining columns, the last one with a mask. The result's other axes are processed one index at a time.
//
//   %x = load_tile %a : tile<f32; i k>
//   %y = load_tile %b : tile<f32; j k>
//   %t = load_tile %h : tile<f32; i j>
//   %u = contraction %x, %y into %t
//   store_tile %u to %h
//   ->
//   split %c: block<jr> in %j {sizes = [32, 16]} {
//     split %r: block<ir> in %i {sizes = [14, 4, 2]} {
//       %x = load_tile %a : tile<f32; ir k> ; %y = load_tile %b : tile<f32; jr k>
//       %t = load_tile %h : tile<f32; ir jr>
//       %u = contraction %x, %y into %t ; store_tile %u to %h } }
//
// If a matrix instruction flushes subnormals, but the processor has no instruction that does so, the
// generated code first checks whether there is anything to flush. It checks each factor and the initial
// values of the sums. If there is nothing to flush, ordinary FMAs are used. The code that flushes hardly ever
// runs. To keep it small, it processes one row at a time.
//
//   %u = contraction %x, %y into %t ; store_tile %u to %h
//   ->
//   if %plain {likely = 1} { split … { %u = contraction … {plain = 1} ; store_tile %u to %h } }
//   else { split … { split %r: … {sizes = [1]} { %u = contraction … ; store_tile %u to %h } } }

namespace kdl::cpu {

namespace {

/// How to choose the blocks for the rows that remain after the largest blocks.
enum class Rest : uint8_t {
  /// The latency of additions dominates, so a block with too few rows to keep a processor busy takes as long
  /// as a block with enough rows.
  Waiting,
  /// Latency hardly matters, so a block with fewer rows takes less time.
  Adding,
  /// Blocks cannot be partly filled, so there must be blocks of every smaller height.
  Whole,
};

/// Returns the heights of the largest blocks and of the blocks for the remaining rows. A few heights suffice,
/// because a block may be partly filled. Adding a term to a sum has a latency of about four cycles. Two
/// additions can be issued per cycle, or only one if vectors are long. Therefore four rows of two vectors
/// keep a processor busy, or two rows if vectors are long.
ir::NumberList Heights(int64_t largest, Rest rest) {
  ir::NumberList heights = {largest};
  constexpr std::array<int64_t, 4> kLess = {4, 3, 2, 1};
  for (int64_t less : kLess) {
    bool is_needed = rest == Rest::Whole || less == 2 || less == 4 ||
                     (less == 1 && (rest == Rest::Adding || largest == 2));
    if (less < largest && is_needed) heights.push_back(less);
  }
  return heights;
}

ir::NumberList Widths(const RegisterBlock& block) {
  if (block.largest.columns == 1) return {block.lanes};
  return {block.largest.columns * block.lanes, block.lanes};
}

class ProductBlocker {
 public:
  ProductBlocker(ir::Module& module, ir::Function& kernel, const ProcessorFacts& facts)
      : b_(module), kernel_(kernel), facts_(facts) {}

  /// Splits all reductions. All decisions are made before the first reduction is split, because splitting
  /// changes the ops.
  void SplitReductions() {
    KernelShape shape{kernel_, facts_, AxisOrder(kernel_)};
    std::vector<std::pair<Op*, RegisterBlock>> found;
    for (OpKind kind : {OpKind::Reduce, OpKind::Contraction}) {
      for (Op* fold : OpsOfKind(kernel_, kind)) {
        if (!IsWhole(fold)) continue;
        RegisterBlock block = RegisterBlock::ChooseFor(shape, *fold);
        if (block.column) found.emplace_back(fold, block);
      }
    }
    for (const auto& [fold, block] : found) SplitReduction(fold, block);
  }

 private:
  /// Whether the reduction is in sequential order, and its result is read only by the followers: ops directly
  /// after it that process each chunk as soon as it is computed.
  static bool IsWhole(const Op* fold) {
    if (fold->attr<AttrKey::Order>() != ir::OrderKind::Sequential) return false;
    std::vector<Op*> followers = FollowersOf(fold);
    const auto& uses = fold->result()->uses();
    return !uses.empty() && std::ranges::all_of(uses, [&](const ir::Use& use) {
      return Contains(followers, AncestorIn(fold->parent_region(), use.user));
    });
  }

  void SplitReduction(Op* fold, const RegisterBlock& block) {
    ir::NumberList heights = Heights(block.largest.rows, ChooseRest(fold));
    b_.StandAt(fold);
    Value* plain = NothingToFlush(fold);
    if (!plain) return SplitBlocks(fold, block, heights);
    Op* ways = MakeBranch(b_, plain);
    ways->SetAttr(ir::MakeAttr<AttrKey::Likely>(1));
    Op* flushing = CopyInto(ways->region(1), fold);
    std::vector<Op*> followers = FollowersOf(fold);
    MoveInto(ways->region(0), fold);
    for (Op* op : followers) MoveInto(ways->region(0), op);
    fold->SetAttr(ir::MakeAttr<AttrKey::Plain>(1));
    SplitBlocks(flushing, block, {1});
    SplitBlocks(fold, block, heights);
  }

  /// Chooses how to process the remaining rows. Blocks cannot be partly filled if a matrix instruction always
  /// loads all rows of its tiles. Latency hardly matters for integers if a separate instruction adds the
  /// products to the sums, because its latency is only one cycle.
  Rest ChooseRest(const Op* fold) const {
    const ir::MatrixInstruction* instruction = ir::InstructionOf(*fold, b_.module().context());
    bool is_native = IsNative(facts_, instruction);
    if (is_native && instruction->tile_groups > 0) return Rest::Whole;
    bool adds_alone = !is_native || AddsAlone(instruction);
    return !IsFloat(fold->attr<AttrKey::Acc>()) && adds_alone ? Rest::Adding : Rest::Waiting;
  }

  void SplitBlocks(Op* fold, const RegisterBlock& block, const ir::NumberList& heights) {
    ReductionSplitter cutter(b_.module(), fold);
    for (AxisId axis : block.outer) cutter.Open(axis, {1});
    cutter.Open(*block.column, Widths(block));
    if (block.row) cutter.Open(*block.row, heights);
    cutter.Move();
  }

  /// Copies the reduction and the ops that follow it into the region.
  Op* CopyInto(ir::Region* region, Op* fold) {
    ir::ValueMap map;
    b_.SetInsertionPoint(region->terminator());
    Op* copy = ir::Clone(fold, b_, map);
    for (const Op* op : FollowersOf(fold)) ir::Clone(op, b_, map);
    return copy;
  }

  /// Emits the condition that nothing needs to be flushed, because no factor of the contraction and no
  /// initial value of its sums is small. Returns null if no check is needed or possible.
  Value* NothingToFlush(Op* fold) {
    const ir::MatrixInstruction* instruction = ir::InstructionOf(*fold, b_.module().context());
    if (!instruction || !instruction->flushes || IsNative(facts_, instruction)) return nullptr;
    ir::ContractionOp contraction(fold);
    for (const Value* tile : {contraction.a(), contraction.b(), contraction.into()}) {
      if (IsTileValue(tile) && tile->def()->kind() != OpKind::LoadTile) return nullptr;
    }
    Value* plain = b_.Bool(true);
    for (Value* factor : {contraction.a(), contraction.b()}) {
      plain = b_.And(plain, IsNoneSmall(b_, SmallFactor(fold, factor)));
    }
    return b_.And(plain, IsNoneSmall(b_, SmallStart(fold, contraction.into())));
  }

  /// Emits -1 if one of the values from which the sums start is small, and 0 otherwise.
  Value* SmallStart(Op* fold, Value* start) {
    if (!IsTileValue(start)) return MinusOneIfSmall(b_, start, kLeastSum);
    ir::LoadTileOp get(start->def());
    if (!get.value()) return SmallIn(fold, start, kLeastSum);
    return MakeIf(
        b_, get.condition(), {b_.types().ScalarOf(kdl::Scalar::I32)},
        [&] { return std::vector{MinusOneIfSmall(b_, get.value(), kLeastSum)}; },
        [&] { return std::vector{SmallIn(fold, start, kLeastSum)}; })[0];
  }

  /// Emits -1 if an element of the factor is small, and 0 otherwise. The number is computed outside of those `split`s that do not affect the factor.
  Value* SmallFactor(Op* fold, Value* factor) {
    if (!IsTileValue(factor)) return MinusOneIfSmall(b_, factor, kLeastFactor);
    Op* at = AskedAt(fold, factor);
    b_.SetInsertionPoint(at);
    Value* small = SmallIn(at, factor, kLeastFactor);
    b_.SetInsertionPoint(fold);
    return small;
  }

  /// Emits -1 if an element of a loaded tile is small, and 0 otherwise. `at` is an op where the tile's blocks are
  /// in scope.
  Value* SmallIn(Op* at, const Value* got, float limit) {
    ir::ValueMap map;
    ir::LoadTileOp get(ir::Clone(got->def(), b_, map));
    get->SetSegment(ir::LoadTileOp::at_value, {});
    get->SetSegment(ir::LoadTileOp::at_condition, {});
    Value* tile = get->result();
    const ir::AxisList walked = *ir::SubtileAxes(kernel_, get.tile_buffer()->type(), tile->type());
    std::vector<Value*> blocks;
    for (AxisId axis : walked) blocks.push_back(ir::FindBlock(at, axis));
    Op* elementwise =
        b_.Create(OpKind::Elementwise, {blocks}, {b_.types().ScalarOf(kdl::Scalar::I32)});
    std::map<AxisId, Value*> points;
    for (AxisId axis : walked) points[axis] = b_.AddParam(elementwise->region(), b_.I64Type(), {});
    std::vector<Value*> point;
    for (AxisId axis : tile->type()->axes) point.push_back(points.at(axis));
    FillRegion(b_, elementwise->region(), [&] {
      ir::Type element = b_.types().ScalarOf(tile->type()->scalar);
      Value* small =
          MinusOneIfSmall(b_, MakeOne(b_, OpKind::Element, {{tile}, point}, element), limit);
      return std::vector{LeastInLoop(small, walked)};
    });
    return elementwise->result();
  }

  Value* LeastInLoop(Value* small, const AxisList& walked) {
    return MakeOne(
        b_, OpKind::ReduceInLoop, {{small}, {}}, small->type(),
        {ir::MakeAttr<AttrKey::Reduction>(ir::ReductionKind::Min),
         ir::MakeAttr<AttrKey::Axes>(walked), ir::MakeAttr<AttrKey::Acc>(kdl::Scalar::I32),
         ir::MakeAttr<AttrKey::Order>(ir::OrderKind::Lanes64)});
  }

  static Op* AskedAt(Op* fold, const Value* factor) {
    const Value* tile_buffer = factor->def()->operand(0);
    Op* at = fold;
    for (Op* split = fold->parent_region()->parent(); split && split->kind() == OpKind::Split;
         split = split->parent_region()->parent()) {
      bool stays = !HasAxis(factor, split->region()->param(0)->type()->axes[0]) &&
                   std::ranges::none_of(tile_buffer->uses(), [&](const ir::Use& use) {
                     return use.user->kind() != OpKind::LoadTile && IsInside(use.user, split);
                   });
      if (!stays) break;
      at = split;
    }
    return at;
  }

  ir::Builder b_;
  ir::Function& kernel_;
  const ProcessorFacts& facts_;
};

}  // namespace

void RunBlockProducts(PassContext& context, ir::Function& kernel) {
  ProductBlocker(context.module, kernel, ProcessorFactsOf(context)).SplitReductions();
}

}  // namespace kdl::cpu
