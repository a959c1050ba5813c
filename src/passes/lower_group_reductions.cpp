#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "ir/element_walk.h"
#include "ir/eval/eval.h"
#include "ir/op_kind.h"
#include "passes/analysis/pipe_ends.h"
#include "passes/groups/combine_slots.h"
#include "passes/groups/group_blocks.h"
#include "passes/groups/group_parts.h"
#include "passes/groups/group_walk.h"
#include "passes/groups/kept_variables.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"

// lower-group-reductions: replaces an spmd that is distributed in groups by an spmd over the groups, in which
// each group runs its blocks in order. The values that the blocks of a segment reduce are accumulated in a
// partial result, which is in a launch tensor. The partial results of the segments are combined by a balanced
// binary tree, and with the old value of the tensor (LANGUAGE.md, "Reductions over blocks").
//
// If the reductions keep the first loop variables, a group has tiles, which are blocks of these variables:
//
//   spmd (%i, %k) { … update %v into %t[%i] {how = add, scope = group} … } {distribute = grouped, kept = [0]}
//   -> %slots = launch_tensor "t" : tensor<f32,[groups * levels, block of i]>
//      spmd (%g in 0 .. %groups) {
//        loop %tile in the tiles of %g {
//          loop %segment in the segments of %g {
//            fill %slots[%now] with the identity
//            loop %n in the blocks of %segment { … update %v into %slots[%now, %i - start of %i] … }
//            combine with the neighbours that have waited for it
//          }
//          if (the group has all segments of the tile) { %t[%i] += %slots[…] }
//        }
//      }
//      sync
//      spmd (over the elements of t) { if (groups share the tile) { combine the slots of its groups } }
//
// Otherwise, a group has one segment, and there is a slot with the shape of the tensor for each segment:
//
//   spmd (%k, %j) { … update %v into %t[%j] … } {distribute = grouped, kept = [1]}
//   -> spmd (%g in 0 .. %groups) {
//        fill the part of %slots[segment of %g] that the blocks of %g reduce
//        loop over the blocks of the segment { … update %v into %slots[segment of %g, %j] … }
//      }
//      sync
//      spmd (over the elements of t) { combine the slots of all segments }
//
// If the spmd may run again, there is another barrier after the reduction. It ensures that slots are not filled
// again before all of them have been combined. The results of an spmd in a stage are combined after all stages
// have ended.

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
  GroupFolder(ir::Module& module, ir::Function& kernel, Op* spmd, GroupShape shape,
              int64_t enough_groups)
      : kernel_(kernel),
        builder_(module),
        spmd_(spmd),
        shape_(shape),
        enough_groups_(enough_groups),
        updates_(GroupUpdatesOf(spmd)),
        stage_(updates_.empty() ? nullptr : StageOf(spmd)),
        after_(stage_ ? kernel.body->terminator() : spmd) {}

  void LowerReductions() {
    bool again = MayRunAgain(spmd_);
    builder_.set_loc(spmd_->loc());
    builder_.SetInsertionPoint(stage_ ? stage_ : spmd_);
    if (stage_) TakeBoundsOut();
    blocks_.emplace(builder_, kernel_, spmd_, shape_, enough_groups_);
    for (const std::vector<ir::UpdateOp>& updates : updates_) {
      parts_.emplace_back(kernel_, spmd_, updates);
      parts_.back().Make(builder_, *blocks_);
    }
    auto waits = [&](const GroupParts& parts) {
      return shape_ == GroupShape::Tiles && IsOpenBefore(kernel_, spmd_, parts.tensor());
    };
    if (std::ranges::any_of(parts_, waits)) builder_.Create(OpKind::Sync, {}, {});
    builder_.SetInsertionPoint(spmd_);
    RunGroups(builder_, kernel_, spmd_, *blocks_, parts_, {builder_.I64(0), blocks_->groups()});
    builder_.SetInsertionPoint(after_);
    if (!parts_.empty() && !IsAfterSync(after_)) builder_.Create(OpKind::Sync, {}, {});
    for (const GroupParts& parts : parts_) Combine(parts);
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

  /// Combines what groups have left in slots with the elements of the tensor.
  void Combine(const GroupParts& parts) {
    ir::GivenBinders given;
    std::vector<size_t> variables = TileVariables();
    for (size_t b : variables) {
      given.bounds.insert(given.bounds.end(), {spmd_->operand(2 * b), spmd_->operand(2 * b + 1)});
      given.types.push_back(spmd_->region()->param(b)->type());
    }
    for (std::optional<size_t> variable : parts.tiled()) {
      auto at = variable ? std::ranges::find(variables, *variable) : variables.end();
      given.of_dim.push_back(at == variables.end() ? std::nullopt
                                                   : std::optional(at - variables.begin()));
    }
    ir::ElementWalk walk = ir::MakeElementSpmd(builder_, kernel_, parts.tensor()->type(), given);
    std::vector<Value*> values(spmd_->region()->params().size());
    for (size_t i = 0; i < variables.size(); ++i)
      values[variables[i]] = walk.op->region()->param(i);
    Place place{walk.access, walk.index};
    if (shape_ == GroupShape::Tiles)
      CombineParts(parts, place, walk.axes, values);
    else
      CombineSegments(parts, place, walk.axes);
    builder_.SetInsertionPoint(walk.op->region());
    builder_.Create(OpKind::Yield, {{}}, {});
    builder_.SetInsertionPoint(after_);
  }

  /// Returns the loop variables whose blocks are combined apart from each other.
  std::vector<size_t> TileVariables() const {
    return shape_ == GroupShape::WholeSegments ? std::vector<size_t>() : blocks_->distributed();
  }

  void CombineSegments(const GroupParts& parts, const Place& place, const ir::AxisList& axes) {
    Value* any = builder_.Gt(blocks_->segments(), builder_.I64(0));
    MakeIf(builder_, any, [&] {
      auto slot = [&](Value* segment) { return parts.InSlot(builder_, place, segment, {}); };
      CombineSlots(builder_, parts.memory(), parts.how(), blocks_->segments(), axes, slot);
      Finish(parts, place, axes, slot(builder_.I64(0)));
    });
  }

  /// Combines the parts of a tile, each of which is in the highest level of the slots of its group. If there is
  /// only one part, its group has done so.
  void CombineParts(const GroupParts& parts, const Place& place, const ir::AxisList& axes,
                    const std::vector<Value*>& variables) {
    Value* shared = builder_.Gt(blocks_->parts(), builder_.I64(1));
    MakeIf(builder_, shared, [&] {
      Value* first = builder_.Mul(TileOf(variables), blocks_->parts());
      auto slot = [&](Value* part) {
        Value* group = builder_.Add(first, part);
        NumberRange segments = blocks_->Segments(group);
        Value* count = builder_.Sub(segments.end, segments.begin);
        Value* level = HighestBit(builder_, count);
        Value* number = builder_.Add(parts.FirstSlot(builder_, group), level);
        return parts.InSlot(builder_, place, number, variables);
      };
      CombineSlots(builder_, parts.memory(), parts.how(), blocks_->parts(), axes, slot);
      Finish(parts, place, axes, slot(builder_.I64(0)));
    });
  }

  /// Returns the number of the tile that contains the current block.
  Value* TileOf(const std::vector<Value*>& variables) {
    Value* tile = nullptr;
    for (size_t b : TileVariables()) {
      bool is_block = variables[b]->type()->kind == ir::TypeKind::Block;
      Value* number = is_block ? builder_.BlockIndex(variables[b]) : variables[b];
      if (tile) tile = builder_.Mul(tile, blocks_->Count({b}));
      tile = tile ? builder_.Add(tile, number) : number;
    }
    return tile;
  }

  /// Combines the value in a slot with the tensor.
  void Finish(const GroupParts& parts, const Place& place, const ir::AxisList& axes,
              const Place& slot) {
    Value* old = builder_.Cast(LoadAt(builder_, parts.tensor(), place, axes), parts.acc());
    Value* all = LoadAt(builder_, parts.memory(), slot, axes);
    StoreAt(builder_, parts.Combined(builder_, old, all), parts.tensor(), place);
  }

  ir::Function& kernel_;
  ir::Builder builder_;
  Op* spmd_;
  GroupShape shape_;
  int64_t enough_groups_;
  std::vector<std::vector<ir::UpdateOp>> updates_;
  Op* stage_;  ///< the stage around the spmd, or null; reductions are placed after all stages
  Op* after_;  ///< reductions are inserted before this op
  std::optional<GroupBlocks> blocks_;
  std::vector<GroupParts> parts_;
};

/// Chooses the shapes of the groups of all spmds of a kernel.
class ShapeChooser {
 public:
  ShapeChooser(ir::Module& module, ir::Function& kernel) : builder_(module), kernel_(kernel) {}

  /// Returns the shapes. Spmds over the same domain have the same one, so that each block runs on the same core in all of them.
  std::map<Op*, GroupShape> Choose() {
    std::map<Op*, GroupShape> shapes;
    std::map<Name, GroupShape> of_domain;
    for (Op* spmd : OpsOfKind(kernel_, OpKind::Spmd)) {
      if (spmd->attr<AttrKey::Distribute>() != ir::DistributionKind::Grouped) continue;
      shapes[spmd] = ShapeOf(spmd);
      if (!spmd->HasAttr(AttrKey::Domain)) continue;
      auto [known, is_new] = of_domain.try_emplace(spmd->attr<AttrKey::Domain>(), shapes[spmd]);
      known->second = std::max(known->second, shapes[spmd]);
    }
    for (auto& [spmd, shape] : shapes)
      if (spmd->HasAttr(AttrKey::Domain)) shape = of_domain.at(spmd->attr<AttrKey::Domain>());
    return shapes;
  }

 private:
  GroupShape ShapeOf(Op* spmd) {
    ir::GroupVariables variables = ir::GroupVariablesOf(spmd);
    bool is_outer = !variables.outer.empty();
    const Op* stage = StageOf(spmd);
    for (const std::vector<ir::UpdateOp>& updates : GroupUpdatesOf(spmd)) {
      if (KeepsAll(spmd, updates, is_outer ? variables.outer : variables.inner)) continue;
      // The pass expand-packs may also have turned the index of a dimension into several.
      if (stage || !IsExact(updates[0])) return GroupShape::WholeSegments;
      MakeAtomic(spmd, updates);
    }
    return is_outer && !stage ? GroupShape::Tiles : GroupShape::Segments;
  }

  /// Makes all blocks update the tensor at once. This is possible because their order does not matter.
  void MakeAtomic(Op* spmd, const std::vector<ir::UpdateOp>& updates) {
    builder_.StandAt(spmd);
    if (IsOpenBefore(kernel_, spmd, updates[0].tensor())) builder_.Create(OpKind::Sync, {}, {});
    for (ir::UpdateOp update : updates)
      update->SetAttr(ir::MakeAttr<AttrKey::Scope>(ir::ScopeKind::Launch));
  }

  ir::Builder builder_;
  ir::Function& kernel_;
};

}  // namespace

void RunLowerGroupReductions(PassContext& context, ir::Function& kernel) {
  std::map<Op*, GroupShape> shapes = ShapeChooser(context.module, kernel).Choose();
  for (Op* op : OpsOfKind(kernel, OpKind::Spmd)) {
    if (auto shape = shapes.find(op); shape != shapes.end())
      GroupFolder(context.module, kernel, op, shape->second, context.facts->enough_groups)
          .LowerReductions();
  }
}

}  // namespace kdl::passes
