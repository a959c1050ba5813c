#include "ir/op_info.h"
#include "support/check.h"
#include "targets/cpu/expand/expander.h"

// After expansion, blocks are no longer values. The start, size and index of a block are scalars instead.

namespace kdl::cpu {

namespace {

/// Returns the value that `old` has in a different iteration of the loop whose body is `region`. `shifted`
/// maps values to their values in that iteration. Values that depend on the iteration are computed again.
Value* ShiftedTo(Expander& e, Value* old, const ir::Region* region, ir::ValueMap& shifted) {
  if (auto known = shifted.find(old); known != shifted.end()) return known->second;
  Op* def = old->def();
  bool inside =
      def && def->parent_region() == region && def->info().has(ir::kPure) && def->regions().empty();
  if (!inside) return shifted[old] = e.Scalar(old);
  for (Value* operand : def->operands()) ShiftedTo(e, operand, region, shifted);
  ir::Clone(def, e.b, shifted);
  return shifted.at(old);
}

/// Returns where the block starts in the next iteration of its loop. Returns null if no loop makes the block,
/// or if another core may get that iteration.
Value* NextStart(Expander& e, ir::MakeBlockOp block) {
  const ir::Region* region = block->parent_region();
  Op* parent = region->parent();
  if (!parent || parent->kind() != OpKind::Loop || parent->HasAttr(ir::AttrKey::DynamicCounter))
    return nullptr;
  Value* iteration = region->param(0);
  Value* step = e.Scalar(ir::LoopOp(parent).step());
  ir::ValueMap shifted = {{iteration, e.b.Add(e.Scalar(iteration), step)}};
  return ShiftedTo(e, block.start(), region, shifted);
}

/// Whether the block comes from a split into panels and a remainder.
bool IsPanels(const Value* block, int64_t panel) {
  const ir::NumberList sizes = block->parent_region()->parent()->attr<ir::AttrKey::Sizes>();
  return sizes[0] == panel && (sizes.size() == 1 || sizes[1] == panel - 1);
}

}  // namespace

void NoteBlock(Expander& e, Op* op) {
  ir::MakeBlockOp block(op);
  BlockFacts facts{e.Scalar(block.start()), e.Scalar(block.size()), e.Scalar(block.index())};
  if (e.rereads.HasRows(op->result())) facts.next = NextStart(e, block);
  e.blocks[op->result()] = facts;
}

Value* OffsetIn(Expander& e, const Op* at, ir::AxisId axis, ir::AxisId whole, int64_t panel) {
  Value* offset = nullptr;
  auto add = [&](Value* more) { offset = offset ? e.b.Add(more, offset) : more; };
  const Value* block = ir::FindBlock(at, axis);
  for (; block->type()->axes[0] != whole; block = e.blocks.at(block).whole) {
    const BlockFacts& facts = e.blocks.at(block);
    if (!facts.whole) {
      add(e.b.Sub(facts.start, e.Facts(at, whole).start));
      break;
    }
    if (IsPanels(block, panel)) return offset ? offset : e.b.I64(0);
    add(facts.offset);
  }
  return offset && panel ? e.b.And(offset, e.b.I64(panel - 1)) : offset;
}

const BlockFacts& Expander::Facts(const Op* at, ir::AxisId axis) const {
  const Value* block = ir::FindBlock(at, axis);
  KDL_CHECK(block && blocks.contains(block), "no block of axis '{}' in scope",
            function.axis(axis).name.text());
  return blocks.at(block);
}

Window Expander::WindowOf(const ir::Op* at, ir::AxisId axis) {
  Value* size = Facts(at, axis).size;
  return {b.I64(0), size, size};
}

}  // namespace kdl::cpu
