#include <algorithm>
#include <optional>
#include <vector>

#include "ir/element_walk.h"
#include "ir/eval/eval.h"
#include "ir/op_kind.h"
#include "passes/analysis/pipe_ends.h"
#include "passes/analysis/points.h"
#include "passes/groups/group_blocks.h"
#include "passes/groups/group_parts.h"
#include "passes/passes.h"
#include "passes/rewriting/element_access.h"
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

using ir::BoundsMode;
using ir::MakeAttr;

/// Returns the only operand with axes in a dimension of an update's index, if it is a block; otherwise null.
const Value* AloneIn(const ir::AccessDim& dim, ir::UpdateOp update) {
  const Value* only = nullptr;
  for (const ir::AccessTerm& term : dim.terms) {
    const Value* operand = update.index()[term.operand];
    if (operand->type()->axes.empty()) continue;
    bool plain = operand->type()->kind == ir::TypeKind::Block && IsConstant(term.coefficient) &&
                 term.coefficient->value != 0;
    if (only || !plain) return nullptr;
    only = operand;
  }
  return only;
}

/// Returns whether no two points of an update touch the same element. Recognizes only simple cases.
bool TellsApart(ir::UpdateOp update) {
  ir::AxisList alone;
  ir::Access access = update->attr<AttrKey::Access>();
  for (const ir::AccessDim& dim : access.dims) {
    if (const Value* block = AloneIn(dim, update))
      alone = ir::UnionAxes(alone, block->type()->axes);
  }
  return alone == PointAxes(update.op);
}

bool IsGroupUpdate(const Op* op) {
  return op->kind() == OpKind::Update && op->attr<AttrKey::Scope>() == ir::ScopeKind::Group;
}

bool MayRunAgain(const Op* op) {
  for (const Op* around = op->parent_region()->parent(); around;
       around = around->parent_region()->parent()) {
    bool loops = around->kind() == OpKind::For || around->kind() == OpKind::Loop ||
                 around->kind() == OpKind::While;
    if (loops) return true;
  }
  return false;
}

/// Returns the updates in an spmd that reduce over groups, as one list for each tensor. All updates of one
/// tensor use the same operator.
std::vector<std::vector<ir::UpdateOp>> UpdatesOf(const Op* spmd) {
  std::vector<std::vector<ir::UpdateOp>> updates;
  ir::Walk(spmd->region(), [&](Op* op) {
    if (!IsGroupUpdate(op)) return;
    ir::UpdateOp update(op);
    auto same = [&](const auto& of) { return of[0].tensor() == update.tensor(); };
    auto known = std::find_if(updates.begin(), updates.end(), same);
    if (known == updates.end()) known = updates.insert(known, std::vector<ir::UpdateOp>());
    known->push_back(update);
  });
  return updates;
}

class GroupFolder {
 public:
  GroupFolder(ir::Module& module, ir::Function& kernel, Op* spmd)
      : kernel_(kernel),
        types_(module.types()),
        builder_(module),
        spmd_(spmd),
        updates_(UpdatesOf(spmd)),
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
    WalkGroups();
    builder_.SetInsertionPoint(after_);
    if (!parts_.empty() && !IsAfterSync(after_)) builder_.Create(OpKind::Sync, {}, {});
    for (const GroupParts& parts : parts_) Fold(parts);
    if (!parts_.empty() && again) builder_.Create(OpKind::Sync, {}, {});
    ir::Erase(spmd_);
  }

 private:
  /// The values that a group needs for one tensor while it runs its blocks.
  struct Visit {
    const GroupParts* parts;
    Value* first_step = nullptr;     ///< number of the group's first step
    Value* step = nullptr;           ///< number of the step that contains the block
    Value* first_of_step = nullptr;  ///< number of the first block of that step
    Value* slot = nullptr;
  };

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

  void WalkGroups() {
    Op* walk = builder_.Create(OpKind::Spmd, {{builder_.I64(0), blocks_->groups()}}, {},
                               {MakeAttr<AttrKey::Distribute>(ir::DistributionKind::Static)});
    Value* group = builder_.AddParam(walk->region(), types_.ScalarOf(Scalar::I64),
                                     builder_.module().context().names.Intern("group"));
    builder_.SetInsertionPoint(walk->region());
    std::vector<Visit> visits;
    for (const GroupParts& parts : parts_) {
      visits.push_back({&parts});
      if (!parts.has_tiles()) Fill(parts, visits.back().slot = group, {});
    }
    Value* next = builder_.Add(group, builder_.I64(1));
    Value* begin = blocks_->FirstBlockOf(group);
    Value* end = blocks_->FirstBlockOf(next);
    for (Visit& visit : visits) {
      if (visit.parts->has_tiles()) visit.first_step = builder_.Div(begin, visit.parts->depth());
    }
    Op* loop = builder_.Create(OpKind::Loop, {{begin}, {end}, {builder_.I64(1)}, {}}, {});
    builder_.Create(OpKind::Yield, {{}}, {});
    Value* number = builder_.AddParam(loop->region(), types_.ScalarOf(Scalar::I64), {});
    builder_.SetInsertionPoint(loop->region());
    std::vector<Value*> binders = blocks_->BinderValues(number);
    for (size_t b = 0; b < binders.size(); ++b)
      spmd_->region()->param(b)->ReplaceAllUsesWith(binders[b]);
    for (Visit& visit : visits) Enter(visit, group, begin, number, binders);
    MoveOps(spmd_->region(), loop->region());
    for (Op* update : OpsIn(loop->region(), IsGroupUpdate)) {
      auto of_tensor = [&](const Visit& visit) {
        return visit.parts->tensor() == ir::UpdateOp(update).tensor();
      };
      Redirect(ir::UpdateOp(update), *std::find_if(visits.begin(), visits.end(), of_tensor),
               binders);
    }
    builder_.set_loc(spmd_->loc());
    builder_.SetInsertionPoint(loop->region()->terminator());
    for (const Visit& visit : visits) Leave(visit, begin, number, binders);
  }

  /// Computes the index (slot) of the partial result for the tile that contains the block. If the block is
  /// the group's first block of that tile, also fills the partial result with the identity.
  void Enter(Visit& visit, Value* group, Value* begin, Value* number,
             const std::vector<Value*>& binders) {
    const GroupParts& parts = *visit.parts;
    if (!parts.has_tiles()) return;
    visit.step = builder_.Div(number, parts.depth());
    visit.first_of_step = builder_.Mul(visit.step, parts.depth());
    visit.slot = parts.Slot(builder_, *blocks_, group, visit.first_step, visit.step);
    Value* first_here = builder_.Max(begin, visit.first_of_step);
    Value* is_new = builder_.Eq(number, first_here);
    if (!parts.at_once()) {
      Value* steps = builder_.Sub(visit.step, visit.first_step);
      Value* first_time = builder_.Lt(steps, parts.tiles());
      is_new = builder_.And(is_new, first_time);
    }
    MakeIf(builder_, is_new, [&] { Fill(parts, visit.slot, binders); });
  }

  /// Reduces a tile that only this group visits, after its last block.
  void Leave(const Visit& visit, Value* begin, Value* number, const std::vector<Value*>& binders) {
    const GroupParts& parts = *visit.parts;
    if (!parts.has_tiles() || !parts.at_once()) return;
    Value* next = builder_.Add(number, builder_.I64(1));
    Value* after = builder_.Add(visit.first_of_step, parts.depth());
    Value* is_last = builder_.Eq(next, after);
    Value* has_first = builder_.Ge(visit.first_of_step, begin);
    MakeIf(builder_, builder_.And(is_last, has_first), [&] {
      ForElements(parts, binders, [&](const Place& place, const ir::AxisList& axes) {
        Value* before = builder_.Cast(LoadAt(builder_, parts.tensor(), place, axes), parts.acc());
        Value* part = LoadAt(builder_, parts.memory(),
                             parts.InPart(builder_, place, visit.slot, binders), axes);
        StoreFolded(parts, builder_.Binary(ir::CombineOf(parts.how()), before, part), place);
      });
    });
  }

  /// Calls `body` to create ops for the elements of the tile that contains the current block.
  template <typename Body>
  void ForElements(const GroupParts& parts, const std::vector<Value*>& binders, Body body) {
    ir::Region* here = builder_.region();
    Op* before = builder_.before();
    std::vector<Value*> given;
    for (std::optional<size_t> binder : parts.tiled())
      given.push_back(binder ? binders[*binder] : nullptr);
    ir::ElementWalk walk = ir::MakeElementLoops(builder_, kernel_, parts.tensor()->type(), given);
    body(Place{walk.access, walk.index}, walk.axes);
    if (walk.op) builder_.Create(OpKind::Yield, {{}}, {});
    builder_.SetInsertionPoint(here, before);
  }

  void StoreFolded(const GroupParts& parts, Value* folded, const Place& place) {
    StoreAt(builder_, builder_.Cast(folded, parts.tensor()->type()->scalar), parts.tensor(), place);
  }

  void Fill(const GroupParts& parts, Value* slot, const std::vector<Value*>& binders) {
    ForElements(parts, binders, [&](const Place& place, const ir::AxisList&) {
      Value* identity = builder_.Bits(parts.acc(), parts.identity());
      StoreAt(builder_, identity, parts.memory(), parts.InPart(builder_, place, slot, binders));
    });
  }

  /// Redirects the update to the group's partial result. If several points may touch the same element, the
  /// update remains an update; otherwise it becomes a load and a store of whole tiles.
  void Redirect(ir::UpdateOp update, const Visit& visit, const std::vector<Value*>& binders) {
    const GroupParts& parts = *visit.parts;
    builder_.StandAt(update.op);
    Values mask = OneOrNone(update.mask());
    Place place = parts.InPart(
        builder_, {update->attr<AttrKey::Access>(), {update.index().begin(), update.index().end()}},
        visit.slot, binders);
    std::vector<ir::Attr> attrs = {
        MakeAttr<AttrKey::Access>(place.access), MakeAttr<AttrKey::Leading>(1),
        MakeAttr<AttrKey::BoundsMode>(update->attr<AttrKey::BoundsMode>())};
    if (const ir::Attr* text = update->FindAttr(AttrKey::Text)) attrs.push_back(*text);
    Value* value = builder_.Cast(update.value(), parts.acc());
    if (TellsApart(update)) {
      ir::AxisList axes;
      for (const Value* index : place.index) axes = ir::UnionAxes(axes, index->type()->axes);
      Value* old = MakeOne(builder_, OpKind::Load, {{parts.memory()}, place.index, {}, mask},
                           types_.Tile(parts.acc(), axes), attrs);
      Value* updated = builder_.Binary(ir::CombineOf(parts.how()), old, value);
      builder_.Create(OpKind::Store, {{updated}, {parts.memory()}, place.index, mask}, {}, attrs);
    } else {
      attrs.push_back(MakeAttr<AttrKey::How>(parts.how()));
      attrs.push_back(MakeAttr<AttrKey::Scope>(ir::ScopeKind::Core));
      builder_.Create(OpKind::Update, {{value}, {parts.memory()}, place.index, mask}, {}, attrs);
    }
    ir::Erase(update.op);
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
      StoreFolded(parts, all, folded.place);
    } else if (parts.at_once()) {
      folded.tile = TileOf(parts, binders);
      FoldShared(folded);
    } else {
      folded.tile = TileOf(parts, binders);
      StoreFolded(parts, FoldRounds(folded), folded.place);
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
      StoreFolded(folded.parts, FoldGroupsOf(folded, from, to, Start(folded)), folded.place);
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
