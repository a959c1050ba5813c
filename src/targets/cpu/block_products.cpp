#include <algorithm>
#include <map>
#include <vector>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/rewrite.h"
#include "targets/cpu/analysis/register_block.h"
#include "targets/cpu/analysis/slides.h"
#include "targets/cpu/cut_fold.h"
#include "targets/cpu/passes.h"
#include "targets/cpu/small_numbers.h"

// block-products: what is folded in one chain an element is cut into blocks whose accumulators stay in registers while the
// folded axes pass: rows of the result by vectors along its last axis, columns around rows. Rows that no whole block covers go
// by smaller blocks, columns by single vectors, the last one with a mask. The result's other axes are walked one by one.
//
//   %x = get %a : tile<f32; i k>             cut %c: blk<jr> in %j {sizes = [32, 16]} {
//   %y = get %b : tile<f32; j k>               cut %r: blk<ir> in %i {sizes = [14, 4, 2, 1]} {
//   %t = get %h : tile<f32; i j>         ->      %x = get %a : tile<f32; ir k> ; %y = get %b : tile<f32; jr k>
//   %u = contraction %x, %y into %t              %t = get %h : tile<f32; ir jr>
//   put %u to %h                                 %u = contraction %x, %y into %t ; put %u to %h } }
//
// Where terms of a unit flush what is small and no instruction does it, it is asked once of each factor whether there is
// anything to flush.

namespace kdl::cpu {

namespace {

/// The largest blocks, then what is left of them: by fours and twos where that saves much, then one by one.
ir::NumberList Heights(int64_t largest) {
  ir::NumberList heights = {largest};
  for (int64_t less : {4, 2, 1}) {
    if (2 * less <= largest) heights.push_back(less);
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
    for (const auto& [fold, block] : found) CutFold(fold, block);
  }

 private:
  /// Whether all of the fold's chains run at once, and nothing else than what follows it reads what it makes.
  static bool IsWhole(const Op* fold) {
    if (fold->attr<AttrKey::Order>() != ir::OrderKind::Chain) return false;
    std::vector<Op*> followers = FollowersOf(fold);
    const auto& uses = fold->result()->uses();
    return !uses.empty() && std::ranges::all_of(uses, [&](const ir::Use& use) {
      return Contains(followers, AncestorIn(fold->block(), use.user));
    });
  }

  void CutFold(Op* fold, const RegisterBlock& block) {
    b_.SetInsertionPoint(fold);
    b_.set_loc(fold->loc());
    Value* plain = PlainOf(fold);
    if (plain) fold->SetSegment(ir::ContractionOp::at_plain, std::span(&plain, 1));
    FoldCutter cutter(b_.module(), fold);
    for (AxisId axis : block.outer) cutter.Open(axis, {1});
    cutter.Open(*block.column, Widths(block));
    if (block.row) cutter.Open(*block.row, Heights(block.largest.rows));
    cutter.Move();
  }

  /// Whether no factor of the contraction is small; null: it is not asked.
  Value* PlainOf(Op* fold) {
    const ir::Unit* unit = ir::UnitOf(*fold, b_.module().context());
    if (!unit || !unit->flushes || IsNative(facts_, unit)) return nullptr;
    Value* plain = b_.Bool(true);
    for (size_t i : {size_t{ir::ContractionOp::at_a}, size_t{ir::ContractionOp::at_b}}) {
      Value* factor = fold->operand(i);
      if (IsTileValue(factor) && factor->def()->kind() == OpKind::Slide) return nullptr;
      Value* found = IsTileValue(factor) ? SmallIn(fold, factor) : SmallOf(factor);
      Value* none = b_.Binary(OpKind::Lt, found, Constant(b_, 1));
      plain = b_.Binary(OpKind::And, plain, none);
    }
    return plain;
  }

  /// 1 where the number is small, else 0.
  Value* SmallOf(Value* number) {
    return NoteSmall(b_, Constant(b_, 0), IsSmall(b_, number, kLeastFactor));
  }

  /// 1 where an element of the tile is; else less. It is asked outside of the cuts that the tile has nothing to do with.
  Value* SmallIn(Op* fold, const Value* factor) {
    const Op* get = factor->def();
    Op* at = AskedAt(fold, factor);
    b_.SetInsertionPoint(at);
    ir::ValueMap map;
    Value* tile = ir::Clone(get, b_, map)->result();
    const ir::AxisList walked = *ir::PartAxes(kernel_, get->operand(0)->type(), tile->type());
    std::vector<Value*> blks;
    for (AxisId axis : walked) blks.push_back(ir::FindBlk(at, axis));
    Op* nest = b_.Create(OpKind::Nest, {blks}, {b_.types().ScalarOf(kdl::Scalar::F32)});
    std::map<AxisId, Value*> points;
    for (AxisId axis : walked)
      points[axis] = b_.AddParam(nest->region(), b_.types().ScalarOf(kdl::Scalar::I64), {});
    std::vector<Value*> point;
    for (AxisId axis : tile->type()->axes) point.push_back(points.at(axis));
    b_.SetInsertionPoint(nest->region());
    ir::Type element = b_.types().ScalarOf(tile->type()->scalar);
    Value* small = SmallOf(b_.Create(OpKind::Element, {{tile}, point}, {element})->result());
    Op* folded = b_.Create(
        OpKind::FoldIn, {{small}, {}}, {small->type()},
        {ir::MakeAttr<AttrKey::Fold>(ir::FoldKind::Max), ir::MakeAttr<AttrKey::Axes>(walked),
         ir::MakeAttr<AttrKey::Acc>(kdl::Scalar::F32),
         ir::MakeAttr<AttrKey::Order>(ir::OrderKind::Lanes64)});
    b_.Create(OpKind::Yield, {{folded->result()}}, {});
    b_.SetInsertionPoint(fold);
    return nest->result();
  }

  static Op* AskedAt(Op* fold, const Value* factor) {
    const Value* home = factor->def()->operand(0);
    Op* at = fold;
    for (Op* cut = fold->block()->parent(); cut && cut->kind() == OpKind::Cut;
         cut = cut->block()->parent()) {
      bool stays = !HasAxis(factor, cut->region()->param(0)->type()->axes[0]) &&
                   std::ranges::none_of(home->uses(), [&](const ir::Use& use) {
                     return use.user->kind() != OpKind::Get && IsInside(use.user, cut);
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
