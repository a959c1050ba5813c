#include "targets/cpu/split_reduction.h"

#include <algorithm>
#include <string>

#include "ir/module.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/accumulators.h"
#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

namespace {

/// Returns the ops that load the tiles that the reduction reads.
std::vector<Op*> TileLoaders(const Op* fold) {
  std::vector<Op*> bringers;
  for (const Value* operand : fold->operands()) {
    if (!IsTileValue(operand) || Contains(bringers, operand->def())) continue;
    Op* def = operand->def();
    if (def->kind() == OpKind::SlidingWindow)
      bringers.push_back(def->operand(ir::SlidingWindowOp::at_tile)->def());
    bringers.push_back(def);
  }
  return bringers;
}

std::vector<Op*> ElementsIn(const Op* op) {
  std::vector<Op*> elements;
  for (const ir::Region* region : op->regions()) {
    ir::Walk(region, [&](Op* inner) {
      if (inner->kind() == OpKind::Element) elements.push_back(inner);
    });
  }
  return elements;
}

}  // namespace

std::vector<Op*> FollowersOf(const Op* fold) {
  std::vector<Op*> followers;
  const Value* tile_buffer = nullptr;
  for (Op* op = fold->next(); op; op = op->next()) {
    bool follows = Touches(op, fold->result()) || (tile_buffer && Touches(op, tile_buffer));
    bool moves =
        op->kind() == OpKind::StoreTile || (op->kind() == OpKind::If && op->results().empty());
    if (!follows || !moves) break;
    if (op->kind() == OpKind::StoreTile) tile_buffer = op->operand(1);
    followers.push_back(op);
  }
  return followers;
}

ReductionSplitter::ReductionSplitter(ir::Module& module, Op* fold) : b_(module), fold_(fold) {
  b_.StandAt(fold);
}

void ReductionSplitter::Open(AxisId axis, const ir::NumberList& sizes) {
  ir::Function& kernel = *fold_->parent_region()->function();
  Value* whole = ir::FindBlock(fold_, axis);
  Name name = b_.module().context().names.Intern(std::string(kernel.axis(axis).name.text()) + "r");
  AxisId part = kernel.AddAxis({name, b_.types().sizes().Constant(sizes[0]), nullptr, axis});
  Op* cut = b_.Create(OpKind::Split, {{whole}}, {}, {ir::MakeAttr<AttrKey::Sizes>(sizes)});
  parts_[axis] = part;
  map_[whole] = block_ = b_.AddParam(cut->region(), b_.types().Block(part), whole->name());
  b_.SetInsertionPoint(cut->region());
  b_.SetInsertionPoint(b_.Create(OpKind::Yield, {{}}, {}));
}

ir::Type ReductionSplitter::ChunkType(ir::Type tile, const ir::AxisList& but) const {
  ir::AxisList axes = tile->axes;
  for (AxisId& axis : axes) {
    auto part = parts_.find(axis);
    if (part != parts_.end() && !Contains(but, axis)) axis = part->second;
  }
  return b_.types().Tile(tile->scalar, axes);
}

Op* ReductionSplitter::Copy(const Op* op, const ir::AxisList& but) {
  Op* copy = ir::Clone(op, b_, map_);
  auto retype = [&](const Op* made) {
    for (Value* result : made->results()) {
      if (IsTileValue(result)) result->set_type(ChunkType(result->type(), but));
    }
  };
  for (const ir::Region* region : copy->regions()) ir::Walk(region, retype);
  retype(copy);
  SortPoints(op, copy);
  return copy;
}

/// Keeps each index of the copied `element` ops with its axis, or with the axis of its chunks.
void ReductionSplitter::SortPoints(const Op* op, const Op* copy) const {
  std::vector<Op*> elements = ElementsIn(op);
  std::vector<Op*> copies = ElementsIn(copy);
  for (size_t i = 0; i < copies.size(); ++i) {
    ir::AxisList axes = elements[i]->operand(0)->type()->axes;
    for (AxisId& axis : axes) {
      if (!HasAxis(copies[i]->operand(0), axis)) axis = parts_.at(axis);
    }
    passes::SortPoint(copies[i], axes);
  }
}

Op* ReductionSplitter::Move() {
  std::vector<Op*> bringers = TileLoaders(fold_);
  std::vector<Op*> followers = FollowersOf(fold_);
  for (const Op* op : bringers) {
    const Op* sliding_window = op->result()->uses()[0].user;
    bool is_window = sliding_window->kind() == OpKind::SlidingWindow;
    Copy(op, is_window ? sliding_window->attr<AttrKey::Axes>() : ir::AxisList());
  }
  Op* copy = Copy(fold_);
  for (const Op* op : followers) Copy(op);
  std::ranges::reverse(followers);
  for (Op* op : followers) ir::Erase(op);
  ir::Erase(fold_);
  std::ranges::reverse(bringers);
  for (Op* op : bringers) {
    if (op->result()->uses().empty()) ir::Erase(op);
  }
  return copy;
}

}  // namespace kdl::cpu
