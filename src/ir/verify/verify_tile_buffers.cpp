#include <fmt/format.h>

#include <algorithm>

#include "ir/verify/verify_rules.h"
#include "ir/views.h"

// Verifies tile buffers and the ops that load and store tiles. A loaded tile represents the elements of its
// tile buffer until it is read, and a stored tile is computed directly in its tile buffer. Therefore, nothing
// else may change the tile buffer between the load and the read, or while the stored tile is computed.

namespace kdl::ir {

namespace {

constexpr int64_t kMaxTileBufferBytes = int64_t{1} << 40;

bool IsTileBuffer(const Value* value) { return value->type()->kind == TypeKind::TileBuffer; }

std::string TileBufferFault(const Op& op, const Module&) {
  Type type = op.result()->type();
  if (type->kind != TypeKind::TileBuffer) return "the result is not a tile buffer";
  const Function& function = *op.parent_region()->function();
  AxisList axes = Sorted(type->axes);
  if (axes.empty()) return "a tile buffer needs an axis";
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) return "it has an axis twice";
  if (type->group > 1 && type->panel > 0 && axes.size() < 2)
    return "groups in panels require another axis";
  if (type->pad > 0 && type->panel > 0 &&
      (axes.size() < 2 || type->pad % (type->panel * type->group) != 0))
    return "the padding between panels must consist of whole rows, along another axis";
  int64_t bytes = Bytes(type->scalar) * type->group;
  for (AxisId axis : axes) {
    Size extent = function.axis(axis).extent;
    if (!IsConstant(extent))
      return fmt::format("axis '{}' has no constant extent", function.axis(axis).name.text());
    int64_t row = axis == type->axes.back() ? type->pad + type->panel : 0;
    int64_t elements = 0;
    bool fits = !__builtin_add_overflow(extent->value, row, &elements) &&
                !__builtin_mul_overflow(bytes, elements, &bytes) && bytes <= kMaxTileBufferBytes;
    if (!fits) return "the tile buffer is too large";
  }
  return "";
}

/// Checks that a tile has the shape of a tile buffer, or of the subtile that the blocks in scope cover.
std::string TileFault(const Op& op, Type tile, Type tile_buffer) {
  const Function& function = *op.parent_region()->function();
  bool fits = IsTile(tile) && tile->scalar == tile_buffer->scalar &&
              SubtileAxes(function, tile_buffer, tile);
  if (!fits) return "is not a tile of the tile buffer";
  for (AxisId axis : tile_buffer->axes) {
    if (!FindBlock(&op, axis))
      return fmt::format("is a part of the tile buffer, but no block of axis '{}' is in scope",
                         function.axis(axis).name.text());
  }
  return "";
}

/// Checks the panel in which a tile is stored.
std::string PanelFault(const Op& op, Values panel, Type tile, Type tile_buffer) {
  if (panel.empty()) return "";
  if (!IsI64(panel[0])) return "the panel's number is not an i64";
  const Function& function = *op.parent_region()->function();
  Size extent = function.axis(SubtileAxes(function, tile_buffer, tile)->back()).extent;
  bool fits = IsConstant(extent) && extent->value <= tile_buffer->panel;
  return fits ? "" : "the tile is larger than a panel of the tile buffer";
}

/// Returns whether the op, or an op nested in it, changes the contents of the tile buffer.
bool Changes(const Op* op, const Value* tile_buffer) {
  if (op->kind() == OpKind::StoreTile || op->kind() == OpKind::Move)
    return op->operand(1) == tile_buffer;
  bool changes = false;
  for (const Region* region : op->regions())
    Walk(region, [&](const Op* inner) { changes |= Changes(inner, tile_buffer); });
  return changes;
}

/// Returns whether the tile buffer changes after `from` and before `user`. If `user` is in a nested region,
/// everything up to the op that contains it, in the region of `from`, is checked.
bool ChangesBefore(const Op* from, const Op* user, const Value* tile_buffer) {
  while (user && user->parent_region() != from->parent_region())
    user = user->parent_region()->parent();
  for (const Op* op = from->next(); op && op != user; op = op->next()) {
    if (Changes(op, tile_buffer)) return true;
  }
  return user && user->kind() != OpKind::StoreTile && Changes(user, tile_buffer);
}

/// Checks the value that a load returns instead of the contents of the tile buffer if a condition is true.
/// The op must have either both a value and a condition, or neither.
std::string InsteadFault(const Op& op) {
  Values value = op.Segment(LoadTileOp::at_value);
  Values condition = op.Segment(LoadTileOp::at_condition);
  if (value.size() != condition.size())
    return "a value requires a condition, and a condition requires a value";
  if (value.empty()) return "";
  if (!IsScalar(value[0]->type()) || value[0]->type()->scalar != op.result()->type()->scalar)
    return "the value is not a scalar of the tile's element type";
  if (!IsScalar(condition[0]->type()) || condition[0]->type()->scalar != Scalar::Bool)
    return "the condition is not a bool";
  const std::vector<Use>& uses = op.result()->uses();
  bool goes_on = uses.size() == 1 && uses[0].user->kind() == OpKind::Contraction &&
                 uses[0].operand == uses[0].user->SegmentBegin(ContractionOp::at_into) &&
                 uses[0].user->attr<AttrKey::Order>() == OrderKind::Sequential;
  return goes_on ? "" : "the tile is not the initial value of one contraction in sequential order";
}

std::string LoadTileFault(const Op& op, const Module&) {
  if (!IsTileBuffer(op.operand(0))) return "the operand is not a tile buffer";
  Type tile = op.result()->type();
  Type tile_buffer = op.operand(0)->type();
  if (std::string fault = TileFault(op, tile, tile_buffer); !fault.empty())
    return "the result " + fault;
  if (std::string fault = PanelFault(op, op.Segment(LoadTileOp::at_panel), tile, tile_buffer);
      !fault.empty())
    return fault;
  if (std::string fault = InsteadFault(op); !fault.empty()) return fault;
  for (const Use& use : op.result()->uses()) {
    if (ChangesBefore(&op, use.user, op.operand(0)))
      return "the tile buffer changes before the tile is read";
  }
  return "";
}

bool IsSequential(const Op* op) {
  bool folds = op->kind() == OpKind::Reduce || op->kind() == OpKind::Contraction;
  return folds && op->attr<AttrKey::Order>() == OrderKind::Sequential;
}

std::string StoreTileFault(const Op& op, const Module&) {
  if (!IsTileBuffer(op.operand(1))) return "the target is not a tile buffer";
  Type tile = op.operand(0)->type();
  Type tile_buffer = op.operand(1)->type();
  if (std::string fault = TileFault(op, tile, tile_buffer); !fault.empty())
    return "the value " + fault;
  if (std::string fault = PanelFault(op, op.Segment(StoreTileOp::at_panel), tile, tile_buffer);
      !fault.empty())
    return fault;
  const Op* maker = op.operand(0)->def();
  if (maker && IsSequential(maker)) return "";  // the tile is in registers until it is stored
  if (!maker || maker->parent_region() != op.parent_region())
    return "the tile is not computed in this region";
  for (const Op* between = maker->next(); between != &op; between = between->next()) {
    bool is_store =
        between && between->kind() == OpKind::StoreTile && between->operand(0)->def() == maker;
    if (!is_store) return "it is not directly after the op that computes the tile";
    if (between->operand(0) == op.operand(0)) return "the tile is stored twice";
    if (between->operand(1) == op.operand(1))
      return "another result of the op is stored in this tile buffer";
  }
  return "";
}

std::string MoveFault(const Op& op, const Module&) {
  if (!IsTileBuffer(op.operand(0)) || !IsTileBuffer(op.operand(1)))
    return "an operand is not a tile buffer";
  Type from = op.operand(0)->type();
  Type to = op.operand(1)->type();
  bool fits = from->scalar == to->scalar && Sorted(from->axes) == Sorted(to->axes);
  return fits ? "" : "the tile buffers differ in element type or axes";
}

}  // namespace

KDL_TYPE_RULE(TileBuffer, TileBufferFault)
KDL_TYPE_RULE(LoadTile, LoadTileFault)
KDL_TYPE_RULE(StoreTile, StoreTileFault)
KDL_TYPE_RULE(Move, MoveFault)

}  // namespace kdl::ir
