#include "ir/op_info.h"
#include "support/check.h"
#include "targets/cpu/expand/expander.h"

// Blks are no values at loop level: what is known of them are scalars.

namespace kdl::cpu {

namespace {

/// The old value as `shifted` has it for another turn of the loop around `block`: what depends on the turn is computed
/// again.
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

/// Where the blk starts in the next turn of its loop; null where none makes it, or another core may get that turn.
Value* NextStart(Expander& e, ir::MakeBlkOp blk) {
  const ir::Region* region = blk->parent_region();
  Op* parent = region->parent();
  if (!parent || parent->kind() != OpKind::Loop || parent->HasAttr(ir::AttrKey::Claim))
    return nullptr;
  Value* turn = region->param(0);
  Value* step = e.Scalar(ir::LoopOp(parent).step());
  ir::ValueMap shifted = {{turn, e.b.Add(e.Scalar(turn), step)}};
  return ShiftedTo(e, blk.start(), region, shifted);
}

/// Whether the blk is of a cut into panels, with what is left behind the whole ones.
bool IsPanels(const Value* blk, int64_t panel) {
  const ir::NumberList sizes = blk->parent_region()->parent()->attr<ir::AttrKey::Sizes>();
  return sizes[0] == panel && (sizes.size() == 1 || sizes[1] == panel - 1);
}

}  // namespace

void NoteBlk(Expander& e, Op* op) {
  ir::MakeBlkOp blk(op);
  BlkFacts facts{e.Scalar(blk.start()), e.Scalar(blk.size()), e.Scalar(blk.index())};
  if (e.rereads.HasRows(op->result())) facts.next = NextStart(e, blk);
  e.blks[op->result()] = facts;
}

Value* OffsetIn(Expander& e, const Op* at, ir::AxisId axis, ir::AxisId whole, int64_t panel) {
  Value* offset = nullptr;
  auto add = [&](Value* more) { offset = offset ? e.b.Add(more, offset) : more; };
  const Value* blk = ir::FindBlk(at, axis);
  for (; blk->type()->axes[0] != whole; blk = e.blks.at(blk).whole) {
    const BlkFacts& facts = e.blks.at(blk);
    if (!facts.whole) {
      add(e.b.Sub(facts.start, e.Facts(at, whole).start));
      break;
    }
    if (IsPanels(blk, panel)) return offset ? offset : e.b.I64(0);
    add(facts.offset);
  }
  return offset && panel ? e.b.And(offset, e.b.I64(panel - 1)) : offset;
}

const BlkFacts& Expander::Facts(const Op* at, ir::AxisId axis) const {
  const Value* blk = ir::FindBlk(at, axis);
  KDL_CHECK(blk && blks.contains(blk), "no block of axis '{}' in scope",
            function.axis(axis).name.text());
  return blks.at(blk);
}

Window Expander::WindowOf(const ir::Op* at, ir::AxisId axis) {
  Value* size = Facts(at, axis).size;
  return {b.I64(0), size, size};
}

}  // namespace kdl::cpu
