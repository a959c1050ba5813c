#include <vector>

#include "ir/builder.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/cpu/analysis/accumulators.h"
#include "targets/cpu/analysis/register_block.h"
#include "targets/cpu/passes.h"
#include "targets/cpu/split_reduction.h"

// pack-late: delays the packing of a factor that a contraction reads in panels (groups of adjacent columns).
// Each panel is packed just before the rows of the other factor are multiplied by it, so that it is still in
// the L1 cache when it is read. All panels use the same memory, one after another, so this memory stays in
// the cache, too.
//
//   %y = elementwise { … load %b[%k, %j] … } ; store_tile %y to %h
//   %b = load_tile %h : tile<f32; j k>
//   %u = contraction %a, %b into %t ; store_tile %u to %c
//   ->
//   if %few { %y = elementwise { … } ; store_tile %y to %h } else { }
//   split %p: block<jr> in %j {sizes = [32, 31]} {
//     %n = select %few, %number, 0
//     if %few { } else { %y = elementwise (…, … in %p) { … } ; store_tile %y to %h panel %n }
//     %b = load_tile %h panel %n : tile<f32; jr k>
//     %u = contraction %a, %b into %t ; store_tile %u to %c }
//
// A packed panel is used for all rows of the other factor. If there are few such rows, packing takes most of
// the time. In that case, all columns are packed at once, because whole rows are read from memory faster than
// parts of rows. All columns are also packed at once if an instruction reads groups of terms, so that a panel
// interleaves several rows, and the panel contains less than a cache line of each row. If such panels were
// packed late, the line would be evicted before the next panel needs the rest of it.

namespace kdl::cpu {

namespace {

/// Whether the elementwise loop may run later and for a part of its elements: it cannot trap, its result depends only on
/// the memory that it loads, and no element depends on another one.
bool CanWait(const Op* elementwise) {
  for (const Op* op : *elementwise->region()) {
    if (op->kind() == OpKind::Store || op->kind() == OpKind::Element ||
        op->kind() == OpKind::ReduceInLoop || op->kind() == OpKind::ScanInLoop || MayTrap(op))
      return false;
  }
  return true;
}

/// Whether the op changes tensors. An elementwise loop does if it contains any access other than a load.
bool ChangesMemory(const Op* op) {
  if (op->info().has(ir::kPure) || IsPlacing(op)) return false;
  if (op->kind() != OpKind::Elementwise) return true;
  return AnyBelow(op->region(), [](const Op* inner) {
    return inner->HasAttr(AttrKey::Access) && inner->kind() != OpKind::Load;
  });
}

bool ChangesMemoryBetween(const Op* first, const Op* last) {
  for (const Op* op = first->next(); op != last; op = op->next()) {
    if (!op || ChangesMemory(op)) return true;
  }
  return false;
}

/// Returns the op that stores the result of an elementwise loop in the buffer, if no other op writes to the
/// buffer. Otherwise returns null.
Op* OnlyStored(const Value* tile_buffer) {
  Op* put = nullptr;
  for (const ir::Use& use : tile_buffer->uses()) {
    if (use.user->kind() == OpKind::LoadTile) continue;
    if (put || use.user->kind() != OpKind::StoreTile) return nullptr;
    put = use.user;
  }
  return put && put->operand(0)->def()->kind() == OpKind::Elementwise ? put : nullptr;
}

/// Returns the op that packs the operand, if only the contraction reads the operand and packing can be
/// delayed. Otherwise returns null.
Op* PackOf(const KernelShape& kernel, const Op* contraction, const Value* operand) {
  const Op* get = operand->def();
  if (!get || get->kind() != OpKind::LoadTile || operand->uses().size() != 1) return nullptr;
  const Value* tile_buffer = get->operand(0);
  Op* put = OnlyStored(tile_buffer);
  if (!put || tile_buffer->uses().size() != 2 || tile_buffer->type()->panel == 0) return nullptr;
  ir::Type type = tile_buffer->type();
  if (type->group > 1 && type->panel * Bytes(type->scalar) < kernel.facts.cache_line_bytes)
    return nullptr;
  const Op* elementwise = put->operand(0)->def();
  if (elementwise->results().size() != 1 || !CanWait(elementwise)) return nullptr;
  if (contraction->parent_region() != elementwise->parent_region() ||
      ChangesMemoryBetween(elementwise, contraction))
    return nullptr;
  RegisterBlock block = RegisterBlock::ChooseFor(kernel, *contraction);
  bool fits = block.row && tile_buffer->type()->panel % (block.largest.columns * block.lanes) == 0;
  return fits && block.outer.empty() ? put : nullptr;
}

/// Returns the sizes for a split into whole panels and a remainder.
ir::NumberList Panels(int64_t panel) {
  if (panel == 1) return {panel};
  return {panel, panel - 1};
}

struct Sinking {
  Op* contraction;
  Op* put;
  RegisterBlock block;
};

class MoveSinker {
 public:
  MoveSinker(PassContext& context, const Sinking& sinking)
      : b_(context.module),
        few_blocks_(context.Value(kFewBlocks)),
        sinking_(sinking),
        cutter_(context.module, sinking.contraction) {}

  void SinkPacking() {
    b_.StandAt(sinking_.contraction);
    Value* few = HasFewRows();
    Op* all = MakeBranch(b_, few);
    MoveElementwiseLoop(all->region(0));
    const Value* tile_buffer = sinking_.put->operand(1);
    cutter_.Open(*sinking_.block.column, Panels(tile_buffer->type()->panel));
    b_.SetInsertionPoint(cutter_.b().before());
    Value* own = b_.BlockIndex(cutter_.block());
    Value* panel = b_.Select(few, own, b_.I64(0));
    Op* one = MakeBranch(b_, few);
    cutter_.b().SetInsertionPoint(one->region(1)->terminator());
    cutter_.Copy(sinking_.put->operand(0)->def());
    SetPanel(cutter_.Copy(sinking_.put), ir::StoreTileOp::at_panel, panel);
    cutter_.b().SetInsertionPoint(one->parent_region(), one->next());
    Op* contraction = cutter_.Move();
    for (const Value* factor : contraction->operands()) {
      Op* get = factor->def();
      bool packs = get && get->kind() == OpKind::LoadTile && get->operand(0) == tile_buffer;
      if (packs) SetPanel(get, ir::LoadTileOp::at_panel, panel);
    }
  }

 private:
  Value* HasFewRows() {
    Value* rows = ir::FindBlock(sinking_.contraction, *sinking_.block.row);
    Value* size = b_.BlockSize(rows);
    return b_.Lt(size, b_.I64(few_blocks_ * sinking_.block.largest.rows));
  }

  void MoveElementwiseLoop(ir::Region* region) {
    MoveInto(region, sinking_.put->operand(0)->def());
    MoveInto(region, sinking_.put);
  }

  static void SetPanel(Op* op, size_t segment, Value* panel) {
    op->SetSegment(segment, std::span(&panel, 1));
  }

  ir::Builder b_;
  int64_t few_blocks_;
  Sinking sinking_;
  ReductionSplitter cutter_;
};

}  // namespace

void RunPackLate(PassContext& context, ir::Function& kernel) {
  KernelShape shape{kernel, ProcessorFactsOf(context), AxisOrder(kernel)};
  std::vector<Sinking> found;
  for (Op* op : OpsOfKind(kernel, OpKind::Contraction)) {
    if (op->attr<ir::AttrKey::Order>() != ir::OrderKind::Sequential) continue;
    for (size_t i : {size_t{ir::ContractionOp::at_a}, size_t{ir::ContractionOp::at_b}}) {
      if (Op* put = PackOf(shape, op, op->operand(i))) {
        found.push_back({op, put, RegisterBlock::ChooseFor(shape, *op)});
        break;
      }
    }
  }
  for (const Sinking& sinking : found) MoveSinker(context, sinking).SinkPacking();
}

}  // namespace kdl::cpu
