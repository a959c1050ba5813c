#include "targets/simt/analysis/tile_buffers.h"

#include <algorithm>
#include <span>
#include <utility>

#include "ir/views.h"
#include "support/scalar.h"
#include "targets/simt/analysis/mma_shapes.h"

namespace kdl::simt {

namespace {

using ir::AttrKey;
using ir::AxisId;
using ir::AxisList;
using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr int64_t kPadBytes = 16;  // the number of bytes in one load of a thread
constexpr int64_t kBankBytes = 4;  // the number of bytes in a bank of workgroup memory

size_t FirstInit(const Op* loop) {
  return loop->kind() == OpKind::Loop ? loop->SegmentBegin(ir::LoopOp::at_inits) : 0;
}

bool IsMappedProduct(const Op* op) {
  return op->kind() == OpKind::Contraction && op->HasAttr(AttrKey::Map);
}

/// Returns whether the index depends on the indices of the elementwise loop. Only sums and the lower bounds
/// of loops are examined.
bool FollowsPoint(const Value* index, const Op* elementwise) {
  const Op* def = index->def();
  if (!def && index->parent_region() == elementwise->region()) return true;
  if (!def) {
    const Op* loop = index->parent_region()->parent();
    bool counts = loop && loop->kind() == OpKind::Loop && index->index() == 0;
    return counts && FollowsPoint(loop->operand(ir::LoopOp::at_lo), elementwise);
  }
  return def->kind() == OpKind::Add && std::ranges::any_of(def->operands(), [&](const Value* part) {
           return FollowsPoint(part, elementwise);
         });
}

/// Returns the indices of an `element` op in the order of the tile's axes in memory.
std::vector<Value*> PointInMemory(const Op* element, const AxisList& order) {
  const AxisList& axes = element->operand(0)->type()->axes;
  std::vector<Value*> point;
  for (AxisId axis : order) {
    auto number = std::ranges::find(axes, axis) - axes.begin();
    point.push_back(element->Segment(ir::ElementOp::at_point)[static_cast<size_t>(number)]);
  }
  return point;
}

/// Returns whether each thread reads along a row of its own at this `element` op, whose indices `point` are in memory
/// order.
bool WalksRows(const Op* element, std::span<Value* const> point) {
  const Op* elementwise = ElementwiseLoopAround(element);
  if (!elementwise || point.size() < 2) return false;
  auto follows = [&](const Value* index) { return FollowsPoint(index, elementwise); };
  return !follows(point.back()) && std::ranges::any_of(point.first(point.size() - 1), follows);
}

/// Returns whether adjacent threads read from adjacent rows of a tile with two axes at this `element` op, whose indices
/// `point` are in memory order.
bool ReadsColumns(const Op* element, std::span<Value* const> point) {
  const Op* elementwise = ElementwiseLoopAround(element);
  if (!elementwise || point.size() != 2) return false;
  const std::vector<Value*>& params = elementwise->region()->params();
  return point[0] == params.back() && std::ranges::find(params, point[1]) != params.end();
}

/// Returns the axes of an elementwise loop that makes the tile, outermost first, if only elementwise loops read it. Adjacent
/// threads make adjacent elements of the last axis. Returns nothing for other tiles.
AxisList OrderOfMaker(const Value* tile) {
  const Op* maker = tile->def();
  bool is_plain = maker && maker->kind() == OpKind::Elementwise && !maker->HasAttr(AttrKey::Map);
  bool only_elements = std::ranges::all_of(tile->uses(), [](const ir::Use& use) {
    return use.user->kind() == OpKind::Element && ElementwiseLoopAround(use.user);
  });
  if (!is_plain || !only_elements || maker->operands().size() != tile->type()->axes.size())
    return {};
  AxisList order;
  for (const Value* block : maker->operands()) order.push_back(block->type()->axes[0]);
  return order;
}

}  // namespace

TileBuffers::TileBuffers(const ir::Function& kernel, Takes takes) : takes_(std::move(takes)) {
  auto add = [&](const Value* value) {
    if (!IsTileValue(value)) return;
    number_[value] = tiles_.size();
    tiles_.emplace_back().values = {value};
  };
  ir::Walk(kernel.body, [&](const Op* op) {
    for (const Value* result : op->results()) add(result);
    for (const ir::Region* region : op->regions()) {
      for (const Value* param : region->params()) add(param);
    }
  });
  ir::Walk(kernel.body, [&](const Op* op) { JoinAll(op); });
  ir::Walk(kernel.body, [&](const Op* op) { Study(op); });
  for (Tile& tile : tiles_) {
    if (tile.order.empty() && tile.values.size() == 1) tile.made = OrderOfMaker(tile.values[0]);
  }
  ir::Walk(kernel.body, [&](const Op* op) { StudyElement(op); });
  for (Tile& tile : tiles_) {
    if (!IsHeld(tile)) tile.map.clear();
  }
  while (std::ranges::any_of(tiles_, [&](Tile& tile) { return Follows(tile); }));
}

/// If the tile is not in registers so far, checks whether it can have the same thread layout as the tiles in
/// registers that are read by the elementwise loop which makes the tile. If so, sets the layout and returns
/// true.
bool TileBuffers::Follows(Tile& tile) const {
  if (!tile.map.empty() || tile.values.size() != 1) return false;
  const Op* elementwise = tile.values[0]->def();
  if (!elementwise || elementwise->kind() != OpKind::Elementwise) return false;
  const AxisMap* map = nullptr;
  bool agree = true;
  ir::Walk(elementwise->region(), [&](const Op* op) {
    if (op->kind() != OpKind::Element || !IsInRegisters(op->operand(0))) return;
    const AxisMap& read = RegisterLayout(op->operand(0));
    agree &= !map || read == *map;
    map = &read;
  });
  if (!map || !agree) return false;
  tile.map = *map;
  if (!IsHeld(tile)) tile.map.clear();
  return !tile.map.empty();
}

AxisList TileBuffers::MemoryOrder(const Value* value) const {
  const Tile& tile = tiles_[Find(value)];
  const AxisList& order = tile.order.empty() ? tile.made : tile.order;
  return order.empty() || tile.printed ? value->type()->axes : order;
}

int64_t TileBuffers::PaddingPerRow(const Value* value) const {
  const Tile& tile = tiles_[Find(value)];
  if (tile.printed || tile.panels || tile.copied) return 0;
  int64_t bytes = Bytes(value->type()->scalar);
  if (IsFactor(value) || tile.columns) return kPadBytes / bytes;
  return tile.walked ? std::max<int64_t>(kBankBytes / bytes, 1) : 0;
}

void TileBuffers::Join(const Value* a, const Value* b) {
  size_t to = Find(a);
  size_t from = Find(b);
  if (to == from) return;
  for (const Value* value : tiles_[from].values) {
    number_[value] = to;
    tiles_[to].values.push_back(value);
  }
  tiles_[from].values.clear();
}

void TileBuffers::JoinAll(const Op* op) {
  if (IsMappedProduct(op)) {
    const Value* into = ir::ContractionOp(const_cast<Op*>(op)).into();
    return Join(op->result(), into);
  }
  if (!HandsOn(op)) return;
  for (size_t i = 0; i < op->results().size(); ++i) {
    const Value* result = op->result(i);
    if (!IsTileValue(result)) continue;
    for (const ir::Region* region : op->regions()) Join(result, region->terminator()->operand(i));
    if (op->kind() == OpKind::If) continue;
    Join(result, op->operand(FirstInit(op) + i));
    Join(result, op->region()->param(i + (op->kind() == OpKind::Loop ? 1 : 0)));
  }
}

void TileBuffers::Study(const Op* op) {
  for (const Value* operand : op->operands()) {
    if (op->kind() == OpKind::Print && IsTileValue(operand)) tiles_[Find(operand)].printed = true;
  }
  if (op->kind() == OpKind::Load && op->HasAttr(AttrKey::Copied)) {
    Tile& tile = tiles_[Find(op->result())];
    if (tile.order.empty()) tile.order = IndexedAxes(op);
    tile.copied = true;
  }
  if (!IsMappedProduct(op)) return;
  tiles_[Find(op->result())].map = AxisMapOf(*op);
  const MmaShape* instruction = NamedMmaShape(op);
  for (size_t i = 0; i < 2; ++i) {
    Tile& factor = tiles_[Find(op->operand(i))];
    if (factor.order.empty()) factor.order = FactorOrder(op, op->operand(i));
    factor.panels |= instruction && instruction->instruction->goes_on;
  }
}

/// Records how an `element` op reads the tile's rows, whose order must be known.
void TileBuffers::StudyElement(const Op* op) {
  if (op->kind() != OpKind::Element) return;
  Tile& tile = tiles_[Find(op->operand(0))];
  std::vector<Value*> point = PointInMemory(op, MemoryOrder(op->operand(0)));
  tile.walked |= WalksRows(op, point);
  tile.columns |= ReadsColumns(op, point);
}

AxisList TileBuffers::FactorOrder(const Op* product, const Value* factor) const {
  AxisList order = product->attr<AttrKey::Axes>();
  for (AxisId axis : factor->type()->axes) {
    if (std::ranges::find(order, axis) == order.end()) order.push_back(axis);
  }
  const MmaShape* instruction = NamedMmaShape(product);
  bool iterations =
      instruction && (WantsTermsSideBySide(*instruction) || LoadedAlong(factor) != order.back());
  if (iterations) std::ranges::reverse(order);
  return order;
}

bool TileBuffers::IsHeld(const Tile& tile) const {
  if (tile.map.empty()) return false;
  return std::ranges::all_of(tile.values, [&](const Value* value) {
    return MakesHeld(tile, value) && std::ranges::all_of(value->uses(), [&](const ir::Use& use) {
             return ReadsHeld(tile, use);
           });
  });
}

bool TileBuffers::MakesHeld(const Tile& tile, const Value* value) const {
  const Op* def = value->def();
  if (!def) return HandsOn(value->parent_region()->parent());
  if (def->kind() == OpKind::Elementwise) return takes_(def, tile.map);
  if (def->HasAttr(AttrKey::Copied)) return true;
  return HandsOn(def) || (IsMappedProduct(def) && AxisMapOf(*def) == tile.map);
}

bool TileBuffers::ReadsHeld(const Tile& tile, const ir::Use& use) const {
  const Op* user = use.user;
  if (user->kind() == OpKind::Element) {
    const Op* elementwise = ElementwiseLoopAround(user);
    return elementwise && takes_(elementwise, tile.map) && ReadsOwnPoints(elementwise, user);
  }
  if (user->HasAttr(AttrKey::Copied)) return true;
  if (user->kind() == OpKind::Yield) return HandsOn(user->parent_region()->parent());
  if (user->kind() == OpKind::Reduce) return FoldsInAnyOrder(user);
  if (user->kind() == OpKind::Contraction)
    return IsMappedProduct(user) && AxisMapOf(*user) == tile.map &&
           use.operand == user->SegmentBegin(ir::ContractionOp::at_into);
  return HandsOn(user);
}

}  // namespace kdl::simt
