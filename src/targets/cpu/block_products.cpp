#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <vector>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/cpu/analysis/register_block.h"
#include "targets/cpu/analysis/sliding_window.h"
#include "targets/cpu/instructions.h"
#include "targets/cpu/passes.h"
#include "targets/cpu/split_reduction.h"

// block-products: what is folded in one chain an element is cut into blocks whose accumulators stay in registers while the
// folded axes pass: rows of the result by vectors along its last axis, columns around rows. Rows that no whole block covers go
// by smaller blocks, of which the last one may lack some, columns by single vectors, the last one with a mask. The result's other axes are walked one by one.
//
//   %x = load_tile %a : tile<f32; i k>             cut %c: block<jr> in %j {sizes = [32, 16]} {
//   %y = load_tile %b : tile<f32; j k>               cut %r: block<ir> in %i {sizes = [14, 4, 2]} {
//   %t = load_tile %h : tile<f32; i j>         ->      %x = load_tile %a : tile<f32; ir k> ; %y = load_tile %b : tile<f32; jr k>
//   %u = contraction %x, %y into %t              %t = load_tile %h : tile<f32; ir jr>
//   store_tile %u to %h                                 %u = contraction %x, %y into %t ; store_tile %u to %h } }
//
// Where terms of a unit flush what is small and no instruction does it, it is asked once of each factor, and of what a panel's
// sums start from, whether there is anything to flush. Where there is not, FMAs do; what does flush hardly ever runs, and goes row
// by row: it takes little code then.
//
//   %u = contraction %x, %y into %t     ->   if %plain {likely = 1} { cut … { %u = contraction … {plain = 1} ; store_tile %u to %h } }
//   store_tile %u to %h                             else { cut … { cut %r: … {sizes = [1]} { %u = contraction … ; store_tile %u to %h } } }

namespace kdl::cpu {

namespace {

// Where all factors and sums of an f32 chain are far above the least normal number, or 0, no sum of it is subnormal:
// factors of 8 digits from 2^-56 on have products that are multiples of 2^-126, the least normal number, and f32 from 2^-103
// on are such multiples, too; so is every sum, rounded or not. A unit that flushes has nothing to flush then.
constexpr float kLeastFactor = 0x1p-56F;
constexpr float kLeastSum = 0x1p-103F;

/// How much code there is for what the largest blocks leave of the rows.
enum class Rest : uint8_t {
  Waiting,  ///< terms wait for each other: fewer rows than keep a processor busy take as long as those
  Adding,  ///< they hardly do: less rows take less time
  Whole,  ///< each block has to have all its rows: there is a height for each number between two others
};

/// The largest blocks, then what they leave. Few heights serve all numbers of rows: a block may lack some. A sum takes in a term in
/// about four cycles, and two sums begin in each, or one where vectors are long: four rows of two vectors, or two, keep it busy.
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

  /// All is decided before the first fold is cut: what is cut looks otherwise.
  void Run() {
    KernelShape shape{kernel_, facts_, AxisOrder(kernel_)};
    std::vector<std::pair<Op*, RegisterBlock>> found;
    for (OpKind kind : {OpKind::Reduce, OpKind::Contraction}) {
      for (Op* fold : OpsOfKind(kernel_, kind)) {
        if (!IsWhole(fold)) continue;
        RegisterBlock block = RegisterBlock::Of(shape, *fold);
        if (block.column) found.emplace_back(fold, block);
      }
    }
    for (const auto& [fold, block] : found) SplitReduction(fold, block);
  }

 private:
  /// Whether all of the fold's chains run at once, and nothing else than what follows it reads what it makes.
  static bool IsWhole(const Op* fold) {
    if (fold->attr<AttrKey::Order>() != ir::OrderKind::Sequential) return false;
    std::vector<Op*> followers = FollowersOf(fold);
    const auto& uses = fold->result()->uses();
    return !uses.empty() && std::ranges::all_of(uses, [&](const ir::Use& use) {
      return Contains(followers, AncestorIn(fold->parent_region(), use.user));
    });
  }

  void SplitReduction(Op* fold, const RegisterBlock& block) {
    ir::NumberList heights = Heights(block.largest.rows, RestOf(fold));
    b_.StandAt(fold);
    Value* plain = PlainOf(fold);
    if (!plain) return Cut(fold, block, heights);
    Op* ways = MakeBranch(b_, plain);
    ways->SetAttr(ir::MakeAttr<AttrKey::Likely>(1));
    Op* flushing = CopyInto(ways->region(1), fold);
    std::vector<Op*> followers = FollowersOf(fold);
    MoveInto(ways->region(0), fold);
    for (Op* op : followers) MoveInto(ways->region(0), op);
    fold->SetAttr(ir::MakeAttr<AttrKey::Plain>(1));
    Cut(flushing, block, {1});
    Cut(fold, block, heights);
  }

  /// Tiles of rows are loaded as a whole. An addition alone takes a cycle.
  Rest RestOf(const Op* fold) const {
    const ir::MatrixInstruction* instruction = ir::InstructionOf(*fold, b_.module().context());
    bool is_native = IsNative(facts_, instruction);
    if (is_native && instruction->tile_groups > 0) return Rest::Whole;
    bool adds_alone = !is_native || AddsAlone(instruction);
    return !IsFloat(fold->attr<AttrKey::Acc>()) && adds_alone ? Rest::Adding : Rest::Waiting;
  }

  void Cut(Op* fold, const RegisterBlock& block, const ir::NumberList& heights) {
    ReductionSplitter cutter(b_.module(), fold);
    for (AxisId axis : block.outer) cutter.Open(axis, {1});
    cutter.Open(*block.column, Widths(block));
    if (block.row) cutter.Open(*block.row, heights);
    cutter.Move();
  }

  /// A copy of the fold and of what follows it.
  Op* CopyInto(ir::Region* region, Op* fold) {
    ir::ValueMap map;
    b_.SetInsertionPoint(region->terminator());
    Op* copy = ir::Clone(fold, b_, map);
    for (const Op* op : FollowersOf(fold)) ir::Clone(op, b_, map);
    return copy;
  }

  /// Whether no factor of the contraction is small, and nothing that it goes on from; null: it is not asked.
  Value* PlainOf(Op* fold) {
    const ir::MatrixInstruction* instruction = ir::InstructionOf(*fold, b_.module().context());
    if (!instruction || !instruction->flushes || IsNative(facts_, instruction)) return nullptr;
    ir::ContractionOp contraction(fold);
    for (const Value* tile : {contraction.a(), contraction.b(), contraction.into()}) {
      if (IsTileValue(tile) && tile->def()->kind() != OpKind::LoadTile) return nullptr;
    }
    Value* plain = b_.Bool(true);
    for (Value* factor : {contraction.a(), contraction.b()}) {
      plain = b_.And(plain, IsNone(SmallFactor(fold, factor)));
    }
    return b_.And(plain, IsNone(SmallStart(fold, contraction.into())));
  }

  /// Whether nothing was found.
  Value* IsNone(Value* found) { return b_.Lt(found, Constant(1)); }

  Value* Constant(float value) { return b_.Bits(kdl::Scalar::F32, std::bit_cast<uint32_t>(value)); }

  /// 1 where the number is small and not 0, else 0.
  Value* SmallOf(Value* number, float limit) {
    Value* none = Constant(0);
    Value* magnitude = b_.Unary(OpKind::Abs, number);
    Value* is_less = b_.Lt(magnitude, Constant(limit));
    Value* is_some = b_.Ne(number, Constant(0));
    Value* is_small = b_.And(is_less, is_some);
    return b_.Select(is_small, Constant(1), none);
  }

  /// The same of what the sums start from.
  Value* SmallStart(Op* fold, Value* start) {
    if (!IsTileValue(start)) return SmallOf(start, kLeastSum);
    ir::LoadTileOp get(start->def());
    if (!get.value()) return SmallIn(fold, start, kLeastSum);
    return MakeIf(
        b_, get.condition(), {b_.types().ScalarOf(kdl::Scalar::F32)},
        [&] { return std::vector{SmallOf(get.value(), kLeastSum)}; },
        [&] { return std::vector{SmallIn(fold, start, kLeastSum)}; })[0];
  }

  /// At least 1 where an element of the factor is. It is asked outside of the cuts that the tile has nothing to do with.
  Value* SmallFactor(Op* fold, Value* factor) {
    if (!IsTileValue(factor)) return SmallOf(factor, kLeastFactor);
    Op* at = AskedAt(fold, factor);
    b_.SetInsertionPoint(at);
    Value* small = SmallIn(at, factor, kLeastFactor);
    b_.SetInsertionPoint(fold);
    return small;
  }

  /// How many elements of what is got are, or many. `at`: where its blocks are in scope.
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
        b_.Create(OpKind::Elementwise, {blocks}, {b_.types().ScalarOf(kdl::Scalar::F32)});
    std::map<AxisId, Value*> points;
    for (AxisId axis : walked) points[axis] = b_.AddParam(elementwise->region(), b_.I64Type(), {});
    std::vector<Value*> point;
    for (AxisId axis : tile->type()->axes) point.push_back(points.at(axis));
    FillRegion(b_, elementwise->region(), [&] {
      ir::Type element = b_.types().ScalarOf(tile->type()->scalar);
      Value* small = SmallOf(MakeOne(b_, OpKind::Element, {{tile}, point}, element), limit);
      return std::vector{FoldOf(small, walked)};
    });
    return elementwise->result();
  }

  Value* FoldOf(Value* small, const AxisList& walked) {
    return MakeOne(
        b_, OpKind::ReduceInLoop, {{small}, {}}, small->type(),
        {ir::MakeAttr<AttrKey::Reduction>(ir::ReductionKind::Sum),
         ir::MakeAttr<AttrKey::Axes>(walked), ir::MakeAttr<AttrKey::Acc>(kdl::Scalar::F32),
         ir::MakeAttr<AttrKey::Order>(ir::OrderKind::Lanes64)});
  }

  static Op* AskedAt(Op* fold, const Value* factor) {
    const Value* tile_buffer = factor->def()->operand(0);
    Op* at = fold;
    for (Op* cut = fold->parent_region()->parent(); cut && cut->kind() == OpKind::Split;
         cut = cut->parent_region()->parent()) {
      bool stays = !HasAxis(factor, cut->region()->param(0)->type()->axes[0]) &&
                   std::ranges::none_of(tile_buffer->uses(), [&](const ir::Use& use) {
                     return use.user->kind() != OpKind::LoadTile && IsInside(use.user, cut);
                   });
      if (!stays) break;
      at = cut;
    }
    return at;
  }

  ir::Builder b_;
  ir::Function& kernel_;
  const ProcessorFacts& facts_;
};

}  // namespace

void RunBlockProducts(PassContext& context, ir::Function& kernel) {
  ProductBlocker(context.module, kernel, FactsOf(context)).Run();
}

}  // namespace kdl::cpu
