#include <algorithm>
#include <optional>
#include <vector>

#include "ir/element_walk.h"
#include "ir/eval/eval.h"
#include "ir/op_kind.h"
#include "passes/analysis/pipe_ends.h"
#include "passes/groups/group_blocks.h"
#include "passes/groups/group_parts.h"
#include "passes/groups/group_walk.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"

// lower-group-reductions: replaces an spmd that is distributed in groups by an spmd over the groups, in which
// each group runs its blocks in order. The values that the blocks of a group reduce are accumulated in the
// group's partial results (parts), which are in a launch tensor. After a barrier, the parts are reduced.
//
//   spmd (%i: block<i> in %lo .. %hi) { … update %v into %t[%e] {how = add, scope = group} … } {distribute = grouped}
//   -> %parts = launch_tensor "t" : tensor<f32,[min(blocks, 256), sizes of t]>
//      spmd (%g in 0 .. min(%blocks, 256)) {
//        fill %parts[%g, …] with the identity
//        loop %n in floor(%g * blocks / groups) .. floor((%g + 1) * blocks / groups) {
//          … update %v into %parts[%g, %e] …
//        }
//      }
//      sync
//      spmd (over the elements of t) { %t = %t + %parts[0] + %parts[1] + … }
//
// If loop variables split t into tiles (see GroupParts), a part is one tile of one group. It is filled when
// the group reaches the tile. If each tile is visited only once, each group itself adds the tiles that no
// other group visits to t. Only the remaining tiles are reduced after the barrier:
//
//   update %v into %t[%i] {scope = group}
//   -> loop %n in … {
//        if (%n is the group's first block of the tile) { fill %parts[%slot, …] }
//        … update %v into %parts[%slot, %i - start of %i] …
//        if (%n is the tile's last block, and the group has its first one) { %t[%i] += … }
//      }
//      sync
//      spmd (%i) { if (several groups visit %i) { loop over these … } }
//
// If the spmd may run again, there is another barrier after the reduction. It ensures that parts are not
// filled again before all of them have been reduced. The parts of an spmd in a stage are reduced after all
// stages have ended.

namespace kdl::passes {

namespace {

bool MayRunAgain(const Op* op) {
  for (const Op* around = op->parent_region()->parent(); around;
       around = around->parent_region()->parent()) {
    bool loops = around->kind() == OpKind::For || around->kind() == OpKind::Loop ||
                 around->kind() == OpKind::While;
    if (loops) return true;
  }
  return false;
}

class GroupFolder {
 public:
  GroupFolder(ir::Module& module, ir::Function& kernel, Op* spmd)
      : kernel_(kernel),
        types_(module.types()),
        builder_(module),
        spmd_(spmd),
        updates_(GroupUpdatesOf(spmd)),
        stage_(updates_.empty() ? nullptr : StageOf(spmd)),
        after_(stage_ ? kernel.body->terminator() : spmd) {}

  void LowerReductions() {
    bool again = MayRunAgain(spmd_);
    builder_.set_loc(spmd_->loc());
    builder_.SetInsertionPoint(stage_ ? stage_ : spmd_);
    if (stage_) TakeBoundsOut();
    blocks_.emplace(builder_, kernel_, spmd_);
    for (const std::vector<ir::UpdateOp>& updates : updates_) {
      parts_.emplace_back(kernel_, spmd_, updates, types_.sizes(), stage_ == nullptr);
      parts_.back().Make(builder_, *blocks_);
    }
    auto waits = [&](const GroupParts& parts) {
      return parts.has_tiles() && parts.at_once() && IsOpenBefore(kernel_, spmd_, parts.tensor());
    };
    if (std::any_of(parts_.begin(), parts_.end(), waits)) builder_.Create(OpKind::Sync, {}, {});
    builder_.SetInsertionPoint(spmd_);
    RunGroups(builder_, kernel_, spmd_, *blocks_, parts_, builder_.I64(0), blocks_->groups());
    builder_.SetInsertionPoint(after_);
    if (!parts_.empty() && !IsAfterSync(after_)) builder_.Create(OpKind::Sync, {}, {});
    for (const GroupParts& parts : parts_) Fold(parts);
    if (!parts_.empty() && again) builder_.Create(OpKind::Sync, {}, {});
    ir::Erase(spmd_);
  }

 private:
  /// Moves the bounds out of the stage, because reductions after the stages use them to compute the number of
  /// groups.
  void TakeBoundsOut() {
    for (Value* bound : spmd_->operands()) TakeOut(bound->def());
  }

  /// Moves the op, and the ops that compute its operands, out of the stage. The verifier has checked that
  /// this is possible.
  void TakeOut(Op* op) {
    if (!op || op->parent_region() != stage_->region()) return;
    for (Value* operand : op->operands()) TakeOut(operand->def());
    op->parent_region()->Remove(op);
    stage_->parent_region()->InsertBefore(op, stage_);
  }

  /// Returns whether a barrier follows the last stage before `op`.
  bool IsAfterSync(const Op* op) const {
    if (!stage_) return false;
    for (op = op->prev(); op->kind() != OpKind::Stage; op = op->prev())
      if (op->kind() == OpKind::Sync) return true;
    return false;
  }

  void Fold(const GroupParts& parts) {
    ir::GivenBinders given;
    for (size_t b = parts.first(); b < parts.last(); ++b) {
      given.bounds.insert(given.bounds.end(), {spmd_->operand(2 * b), spmd_->operand(2 * b + 1)});
      given.types.push_back(spmd_->region()->param(b)->type());
    }
    for (std::optional<size_t> binder : parts.tiled())
      given.of_dim.push_back(binder ? std::optional(*binder - parts.first()) : std::nullopt);
    ir::ElementWalk walk = ir::MakeElementSpmd(builder_, kernel_, parts.tensor()->type(), given);
    std::vector<Value*> binders(parts.last());
    for (size_t b = parts.first(); b < parts.last(); ++b)
      binders[b] = walk.op->region()->param(b - parts.first());
    Folded folded{parts, {walk.access, walk.index}, walk.axes, binders, nullptr};
    if (!parts.has_tiles()) {
      Value* start = Start(folded);
      Value* end = blocks_->groups();
      Value* all = FoldGroupsOf(folded, builder_.I64(0), end, start);
      StoreAt(builder_, all, parts.tensor(), folded.place);
    } else if (parts.at_once()) {
      folded.tile = TileOf(parts, binders);
      FoldShared(folded);
    } else {
      folded.tile = TileOf(parts, binders);
      StoreAt(builder_, FoldRounds(folded), parts.tensor(), folded.place);
    }
    builder_.Create(OpKind::Yield, {{}}, {});
    builder_.SetInsertionPoint(after_);
  }

  /// The elements of a tensor into which the partial results of groups are reduced.
  struct Folded {
    const GroupParts& parts;
    Place place;
    ir::AxisList axes;
    std::vector<Value*> binders;
    Value* tile;
  };

  /// Returns the number of the tile that contains the current block.
  Value* TileOf(const GroupParts& parts, const std::vector<Value*>& binders) {
    Value* tile = nullptr;
    for (size_t b = parts.first(); b < parts.last(); ++b) {
      bool is_block = binders[b]->type()->kind == ir::TypeKind::Block;
      Value* number = is_block ? builder_.BlockIndex(binders[b]) : binders[b];
      if (tile) tile = builder_.Mul(tile, blocks_->Count(b, b + 1));
      tile = tile ? builder_.Add(tile, number) : number;
    }
    return tile;
  }

  Value* Start(const Folded& folded) {
    return builder_.Cast(LoadAt(builder_, folded.parts.tensor(), folded.place, folded.axes),
                         folded.parts.acc());
  }

  /// Returns `start` combined with the partial results of the groups from `from` (inclusive) to `to`
  /// (exclusive).
  Value* FoldGroupsOf(const Folded& folded, Value* from, Value* to, Value* start) {
    const GroupParts& parts = folded.parts;
    return MakeLoop(builder_, {from, to}, {start}, [&](Value* group, const Values& so_far) {
      Value* first_step =
          parts.has_tiles() ? builder_.Div(blocks_->FirstBlockOf(group), parts.depth()) : nullptr;
      Value* slot = parts.Slot(builder_, *blocks_, group, first_step, folded.tile);
      Value* part = LoadAt(builder_, parts.memory(),
                           parts.InPart(builder_, folded.place, slot, folded.binders), folded.axes);
      return Values{builder_.Binary(ir::CombineOf(parts.how()), so_far[0], part)};
    })[0];
  }

  /// Returns the range of the groups that have blocks of the step that begins with block `first`.
  std::pair<Value*, Value*> GroupsOfStep(const GroupParts& parts, Value* first) {
    Value* one = builder_.I64(1);
    Value* after = builder_.Add(first, parts.depth());
    Value* last = builder_.Sub(after, one);
    Value* to = builder_.Add(blocks_->GroupOfBlock(last), one);
    return {blocks_->GroupOfBlock(first), to};
  }

  /// Reduces a tile that is visited in only one step. If only one group has blocks of that step, the group
  /// has already reduced the tile.
  void FoldShared(const Folded& folded) {
    Value* first = builder_.Mul(folded.tile, folded.parts.depth());
    auto [from, to] = GroupsOfStep(folded.parts, first);
    Value* after = builder_.Add(from, builder_.I64(1));
    MakeIf(builder_, builder_.Lt(after, to), [&] {
      StoreAt(builder_, FoldGroupsOf(folded, from, to, Start(folded)), folded.parts.tensor(),
              folded.place);
    });
  }

  /// Reduces a tile that is visited once in each round. A group that visits the tile several times has only
  /// one partial result for it. If there are at least as many rounds as groups, each group has visited all
  /// tiles.
  Value* FoldRounds(const Folded& folded) {
    const GroupParts& parts = folded.parts;
    Value* start = Start(folded);
    Value* zero = builder_.I64(0);
    Value* one = builder_.I64(1);
    Value* all = builder_.Ge(parts.rounds(), blocks_->groups());
    Value* rounds = builder_.Select(all, one, parts.rounds());
    auto with_round = [&](Value* round, const Values& carried) -> Values {
      Value* steps = builder_.Mul(round, parts.tiles());
      Value* step = builder_.Add(steps, folded.tile);
      auto [from, after] = GroupsOfStep(parts, builder_.Mul(step, parts.depth()));
      Value* to = builder_.Select(all, blocks_->groups(), after);
      Value* rest = builder_.Select(all, zero, builder_.Max(carried[0], from));
      Value* so_far = FoldGroupsOf(folded, rest, to, carried[1]);
      return {builder_.Max(carried[0], to), so_far};
    };
    return MakeLoop(builder_, {zero, rounds}, {zero, start}, with_round)[1];
  }

  ir::Function& kernel_;
  ir::TypeTable& types_;
  ir::Builder builder_;
  Op* spmd_;
  std::vector<std::vector<ir::UpdateOp>> updates_;
  Op* stage_;  ///< the stage around the spmd, or null; reductions are placed after all stages
  Op* after_;  ///< reductions are inserted before this op
  std::optional<GroupBlocks> blocks_;
  std::vector<GroupParts> parts_;
};

}  // namespace

void RunLowerGroupReductions(PassContext& context, ir::Function& kernel) {
  for (Op* op : OpsOfKind(kernel, OpKind::Spmd)) {
    if (op->attr<AttrKey::Distribute>() == ir::DistributionKind::Grouped)
      GroupFolder(context.module, kernel, op).LowerReductions();
  }
}

}  // namespace kdl::passes
