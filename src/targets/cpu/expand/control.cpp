#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"
#include "targets/cpu/expand/carried_loop.h"
#include "targets/cpu/expand/expander.h"

// Expands loops and branches. After allocate-tiles, they carry only scalars.

namespace kdl::cpu {

namespace {

void ExpandRegion(Expander& e, const ir::Region* from, ir::Region* to) {
  FillRegion(e.b, to, [&] {
    ExpandRegion(e, from);
    return SegmentsOf(from->terminator(), [&](Value* old) { return e.Scalar(old); })[0];
  });
}

/// Copies a loop or stage around its expanded body. The condition of a `while` is a scalar here; conditions
/// that differ between elements occur only inside elementwise loops.
void ExpandAround(Expander& e, const Op* op) {
  auto segments = SegmentsOf(op, [&](Value* old) { return e.Scalar(old); });
  Op* copy = e.b.Create(op->kind(), segments, TypesOf(op->results()), op->attrs());
  for (const Value* param : op->region()->params())
    e.scalars[param] = e.b.AddParam(copy->region(), param->type(), param->name());
  StandFor(op, copy, e.scalars);
  ExpandRegion(e, op->region(), copy->region());
}

void ExpandLoop(Expander& e, const Op* loop) {
  auto expand = [&] { ExpandAround(e, loop); };
  if (!ExpandCarriedLoop(e, loop, expand)) expand();
}

/// Returns whether the block has `size` elements; nothing if that is unknown.
std::optional<bool> HasSize(const Expander& e, const Value* block, int64_t size) {
  const BlockFacts& facts = e.blocks.at(block);
  if (auto known = ConstantOf(facts.size)) return known == size;
  return facts.most && size > facts.most ? std::optional(false) : std::nullopt;
}

/// Returns the value of a condition on the sizes of blocks, or nothing if it is unknown. It may be known in
/// only one of the copies of a split's body.
std::optional<bool> Known(const Expander& e, const Value* condition) {
  const Op* def = condition->def();
  if (!def) return std::nullopt;
  auto operand = [&](size_t i) { return Known(e, def->operand(i)); };
  switch (def->kind()) {
    case OpKind::Const:
      return ConstantOf(condition) != 0;
    case OpKind::And:
      return operand(0) == false || operand(1) == false ? std::optional(false) : std::nullopt;
    case OpKind::Select:
      return operand(1) == operand(2) ? operand(1) : std::nullopt;
    case OpKind::Eq: {
      const Op* size = def->operand(0)->def();
      auto number = ConstantOf(def->operand(1));
      bool asks = size && size->kind() == OpKind::BlockSize && number;
      return asks ? HasSize(e, size->operand(0), *number) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

void ExpandIf(Expander& e, Op* op) {
  std::optional<bool> known = op->results().empty() ? Known(e, op->operand(0)) : std::nullopt;
  if (known) return ExpandRegion(e, op->region(*known ? 0 : 1));
  Op* copy =
      e.b.Create(OpKind::If, {{e.Scalar(op->operand(0))}}, TypesOf(op->results()), op->attrs());
  for (size_t i = 0; i < op->results().size(); ++i) e.scalars[op->result(i)] = copy->result(i);
  for (size_t r = 0; r < 2; ++r) ExpandRegion(e, op->region(r), copy->region(r));
}

/// Returns a buffer that contains the tile, for printing. The buffer's dimensions are the tile's axes,
/// ordered by their numbers, as in printed text.
Value* ToPrint(Expander& e, const Op* op, Value* tile, Values& sizes) {
  ir::AxisList axes = tile->type()->axes;
  std::vector<int64_t> extents;
  for (ir::AxisId axis : axes) {
    extents.push_back(e.Extent(axis));
    sizes.push_back(e.Facts(op, axis).size);
  }
  kdl::Scalar scalar = tile->type()->scalar;
  Op* buffer = e.b.Create(OpKind::BufferNew, {}, {e.module.types().Buffer(scalar, extents)});
  TileBuffer printed{buffer->result(), axes, 0, 1, {}, nullptr};
  CopyTile(e, op, TileBufferOf(e, tile), printed, scalar);
  return buffer->result();
}

void ExpandPrint(Expander& e, const Op* op) {
  Values values;
  Values sizes;
  for (Value* value : op->Segment(ir::PrintOp::at_values))
    values.push_back(IsTileValue(value) ? ToPrint(e, op, value, sizes) : e.Scalar(value));
  e.b.Create(OpKind::Print, {values, sizes}, {}, op->attrs());
}

void ExpandMove(Expander& e, const Op* op, const Value* from, const Value* to) {
  CopyTile(e, op, e.tile_buffers.at(from), e.tile_buffers.at(to), from->type()->scalar);
}

/// Expands a `store_tile`. The op that makes a tile already stores it in its buffer. Only tiles that were
/// loaded from a different buffer, and tiles in registers, still have to be stored.
void ExpandStoreTile(Expander& e, const Op* op) {
  if (e.registers.contains(op->operand(0))) return StoreRegisters(e, op);
  const Op* maker = op->operand(0)->def();
  if (maker->kind() == OpKind::LoadTile) ExpandMove(e, op, maker->operand(0), op->operand(1));
}

void ExpandOp(Expander& e, Op* op) {
  switch (op->kind()) {
    case OpKind::MakeBlock:
      NoteBlock(e, op);
      break;
    case OpKind::BlockStart:
      e.scalars[op->result()] = e.blocks.at(op->operand(0)).start;
      break;
    case OpKind::BlockSize:
      e.scalars[op->result()] = e.blocks.at(op->operand(0)).size;
      break;
    case OpKind::BlockIndex:
      e.scalars[op->result()] = e.blocks.at(op->operand(0)).index;
      break;
    case OpKind::TileBuffer:
      e.tile_buffers[op->result()] = MakeTileBuffer(e, op->result());
      break;
    case OpKind::LoadTile:
      break;  // nothing to emit: readers of the tile read its buffer
    case OpKind::StoreTile:
      ExpandStoreTile(e, op);
      break;
    case OpKind::Move:
      ExpandMove(e, op, op->operand(0), op->operand(1));
      break;
    case OpKind::Elementwise:
      ExpandElementwiseLoop(e, op);
      break;
    case OpKind::Reduce:
    case OpKind::Contraction:
      ExpandFold(e, op);
      break;
    case OpKind::MultiReduce:
    case OpKind::Scan:
      ExpandCombine(e, op);
      break;
    case OpKind::SlidingWindow:
      ExpandSlidingWindow(e, op);
      break;
    case OpKind::Gather:
      ExpandGather(e, op);
      break;
    case OpKind::Split:
      ExpandSplit(e, op);
      break;
    case OpKind::Loop:
      ExpandLoop(e, op);
      break;
    case OpKind::While:
    case OpKind::Stage:
      ExpandAround(e, op);
      break;
    case OpKind::If:
      ExpandIf(e, op);
      break;
    case OpKind::Print:
      ExpandPrint(e, op);
      break;
    default:
      ExpandScalarOp(e, op);
      break;
  }
}

}  // namespace

void ExpandScalarOp(Expander& e, Op* op) {
  auto access = [&] {
    return ElementAccessOf(op, [&](Value* operand) { return e.Scalar(operand); });
  };
  if (op->kind() == OpKind::Load) {
    e.scalars[op->result()] = ExpandLoad(e.b, access());
  } else if (op->kind() == OpKind::Store) {
    ExpandStore(e.b, access(), e.Scalar(op->operand(ir::StoreOp::at_value)));
  } else if (op->kind() == OpKind::Update) {
    ExpandUpdate(e.b, access(), e.Scalar(op->operand(ir::UpdateOp::at_value)));
  } else {
    ir::Clone(op, e.b, e.scalars);
  }
}

void ExpandRegion(Expander& e, const ir::Region* region) {
  for (Op* op : *region) {
    if (op == region->terminator()) break;
    e.b.set_loc(op->loc());
    ExpandOp(e, op);
  }
}

Value* Expander::Scalar(Value* old) const {
  auto found = scalars.find(old);
  KDL_CHECK(found != scalars.end(), "'{}' is not a scalar yet", old->name().text());
  return found->second;
}

}  // namespace kdl::cpu
