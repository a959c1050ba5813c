#include "passes/groups/group_walk.h"

#include <algorithm>
#include <optional>

#include "ir/element_walk.h"
#include "ir/eval/eval.h"
#include "ir/op_kind.h"
#include "passes/analysis/points.h"
#include "passes/rewriting/element_access.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"

namespace kdl::passes {

namespace {

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

class GroupWalk {
 public:
  GroupWalk(ir::Builder& builder, ir::Function& kernel, Op* spmd, GroupBlocks& blocks,
            const std::vector<GroupParts>& parts)
      : builder_(builder), kernel_(kernel), spmd_(spmd), blocks_(blocks), parts_(parts) {}

  void MoveIntoGroups(Value* first_group, Value* end_group) {
    Op* walk = builder_.Create(OpKind::Spmd, {{first_group, end_group}}, {},
                               {MakeAttr<AttrKey::Distribute>(ir::DistributionKind::Static)});
    Value* group = builder_.AddParam(walk->region(), builder_.I64Type(),
                                     builder_.module().context().names.Intern("group"));
    builder_.SetInsertionPoint(walk->region());
    for (const GroupParts& parts : parts_) {
      visits_.push_back({&parts});
      if (!parts.has_tiles()) Fill(parts, visits_.back().slot = group, {});
    }
    Value* next = builder_.Add(group, builder_.I64(1));
    Value* begin = blocks_.FirstBlockOf(group);
    Value* end = blocks_.FirstBlockOf(next);
    for (Visit& visit : visits_) {
      if (visit.parts->has_tiles()) visit.first_step = builder_.Div(begin, visit.parts->depth());
    }
    Op* loop = builder_.Create(OpKind::Loop, {{begin}, {end}, {builder_.I64(1)}, {}}, {});
    builder_.Create(OpKind::Yield, {{}}, {});
    RunBlocks(loop, group, begin);
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

  /// Moves the body of the spmd into the loop over the blocks of a group, whose first block is `begin`.
  void RunBlocks(Op* loop, Value* group, Value* begin) {
    Value* number = builder_.AddParam(loop->region(), builder_.I64Type(), {});
    builder_.SetInsertionPoint(loop->region());
    std::vector<Value*> binders = blocks_.BinderValues(number);
    for (size_t b = 0; b < binders.size(); ++b)
      spmd_->region()->param(b)->ReplaceAllUsesWith(binders[b]);
    for (Visit& visit : visits_) Enter(visit, group, begin, number, binders);
    MoveOps(spmd_->region(), loop->region());
    for (Op* op : OpsIn(loop->region(), IsGroupUpdate)) {
      ir::UpdateOp update(op);
      Redirect(update,
               *std::ranges::find_if(
                   visits_,
                   [&](const Visit& visit) { return visit.parts->tensor() == update.tensor(); }),
               binders);
    }
    builder_.set_loc(spmd_->loc());
    builder_.SetInsertionPoint(loop->region()->terminator());
    for (const Visit& visit : visits_) Leave(visit, begin, number, binders);
  }

  /// Computes the index (slot) of the partial result for the tile that contains the block. If the block is
  /// the group's first block of that tile, also fills the partial result with the identity.
  void Enter(Visit& visit, Value* group, Value* begin, Value* number,
             const std::vector<Value*>& binders) {
    const GroupParts& parts = *visit.parts;
    if (!parts.has_tiles()) return;
    visit.step = builder_.Div(number, parts.depth());
    visit.first_of_step = builder_.Mul(visit.step, parts.depth());
    visit.slot = parts.Slot(builder_, blocks_, group, visit.first_step, visit.step);
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
        StoreAt(builder_, builder_.Binary(ir::CombineOf(parts.how()), before, part), parts.tensor(),
                place);
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
                           builder_.types().Tile(parts.acc(), axes), attrs);
      Value* updated = builder_.Binary(ir::CombineOf(parts.how()), old, value);
      builder_.Create(OpKind::Store, {{updated}, {parts.memory()}, place.index, mask}, {}, attrs);
    } else {
      attrs.push_back(MakeAttr<AttrKey::How>(parts.how()));
      attrs.push_back(MakeAttr<AttrKey::Scope>(ir::ScopeKind::Core));
      builder_.Create(OpKind::Update, {{value}, {parts.memory()}, place.index, mask}, {}, attrs);
    }
    ir::Erase(update.op);
  }

  ir::Builder& builder_;
  ir::Function& kernel_;
  Op* spmd_;
  GroupBlocks& blocks_;
  const std::vector<GroupParts>& parts_;
  std::vector<Visit> visits_;
};

}  // namespace

bool IsGroupUpdate(const Op* op) {
  return op->kind() == OpKind::Update && op->attr<AttrKey::Scope>() == ir::ScopeKind::Group;
}

std::vector<std::vector<ir::UpdateOp>> GroupUpdatesOf(const Op* spmd) {
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

void RunGroups(ir::Builder& builder, ir::Function& kernel, Op* spmd, GroupBlocks& blocks,
               const std::vector<GroupParts>& parts, Value* first_group, Value* end_group) {
  GroupWalk(builder, kernel, spmd, blocks, parts).MoveIntoGroups(first_group, end_group);
}

}  // namespace kdl::passes
