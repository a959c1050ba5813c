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

// pack-late: what a contraction reads in panels of columns is packed panel by panel, right before the rows pass over it: the
// panel is in the nearest cache then, and all take turns in one place that stays there.
//
//   %y = elementwise loop { … load %b[%k, %j] … }               if %few { %y = elementwise loop { … } ; store_tile %y to %h } else { }
//   store_tile %y to %h                                    cut %p: block<jr> in %j {sizes = [32, 31]} {
//   %b = load_tile %h : tile<f32; j k>              ->      %n = select %few, %number, 0
//   %u = contraction %a, %b into %t                   if %few { } else { %y = elementwise loop (…, … in %p) { … } ; store_tile %y to %h panel %n }
//   store_tile %u to %c                                      %b = load_tile %h panel %n : tile<f32; jr k>
//                                                     %u = contraction %a, %b into %t ; store_tile %u to %c }
//
// A panel serves all rows. Where they are few, packing takes most of the time, and memory gives long rows sooner than pieces
// of them: all columns are packed at once. So they are where a panel of groups has less than a line of each row: the line would
// be gone when the next panel wants the rest of it.

namespace kdl::cpu {

namespace {

/// Runs with the same result at any time at which what it loads has not changed, without a trap.
bool CanWait(const Op* elementwise) {
  for (const Op* op : *elementwise->region()) {
    if (op->kind() == OpKind::Store || op->kind() == OpKind::Element ||
        op->kind() == OpKind::ReduceInLoop || MayTrap(op))
      return false;
  }
  return true;
}

/// Whether the op changes tensors: a elementwise loop does where an access in it does more than load.
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

/// The put of what a elementwise loop makes that alone puts to the tile buffer.
Op* OnlyStored(const Value* tile_buffer) {
  Op* put = nullptr;
  for (const ir::Use& use : tile_buffer->uses()) {
    if (use.user->kind() == OpKind::LoadTile) continue;
    if (put || use.user->kind() != OpKind::StoreTile) return nullptr;
    put = use.user;
  }
  return put && put->operand(0)->def()->kind() == OpKind::Elementwise ? put : nullptr;
}

/// What packs the operand that the contraction alone reads; null: nothing does that may wait.
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
  RegisterBlock block = RegisterBlock::Of(kernel, *contraction);
  bool fits = block.row && tile_buffer->type()->panel % (block.largest.columns * block.lanes) == 0;
  return fits && block.outer.empty() ? put : nullptr;
}

/// Whole panels, and what is left behind them.
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
  MoveSinker(ir::Module& module, const Sinking& sinking)
      : b_(module), sinking_(sinking), cutter_(module, sinking.contraction) {}

  void Run() {
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
    constexpr int64_t kFewBlocks = 4;
    Value* rows = ir::FindBlock(sinking_.contraction, *sinking_.block.row);
    Value* size = b_.BlockSize(rows);
    return b_.Lt(size, b_.I64(kFewBlocks * sinking_.block.largest.rows));
  }

  void MoveElementwiseLoop(ir::Region* region) {
    MoveInto(region, sinking_.put->operand(0)->def());
    MoveInto(region, sinking_.put);
  }

  static void SetPanel(Op* op, size_t segment, Value* panel) {
    op->SetSegment(segment, std::span(&panel, 1));
  }

  ir::Builder b_;
  Sinking sinking_;
  ReductionSplitter cutter_;
};

}  // namespace

void RunPackLate(PassContext& context, ir::Function& kernel) {
  KernelShape shape{kernel, FactsOf(context), AxisOrder(kernel)};
  std::vector<Sinking> found;
  for (Op* op : OpsOfKind(kernel, OpKind::Contraction)) {
    if (op->attr<ir::AttrKey::Order>() != ir::OrderKind::Sequential) continue;
    for (size_t i : {size_t{ir::ContractionOp::at_a}, size_t{ir::ContractionOp::at_b}}) {
      if (Op* put = PackOf(shape, op, op->operand(i))) {
        found.push_back({op, put, RegisterBlock::Of(shape, *op)});
        break;
      }
    }
  }
  for (const Sinking& sinking : found) MoveSinker(context.module, sinking).Run();
}

}  // namespace kdl::cpu
