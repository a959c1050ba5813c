#include "targets/cluster/copy_tiles.h"

#include <algorithm>
#include <vector>

#include "ir/lookup.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "proofs/proofs.h"
#include "targets/cluster/passes.h"

// copy-tiles: turns each load or store of a tile into a block copy, if the tile is a rectangular region of a
// tensor. Loads move as early, and stores as late, as their region allows, so that the computation between
// them stays together. If the kernel loads the same tile twice, it is copied only once.
//
//   %u = add %t, %t                        ->   %v = load %x[%j] {copied = 1}
//   %v = load %x[%j]                            %u = add %t, %t

namespace kdl::cluster {

namespace {

using ir::AttrKey;
using ir::AxisId;
using ir::Op;
using ir::OpKind;
using ir::Value;

std::span<Value* const> AccessIndices(const Op* op) {
  return op->Segment(op->kind() == OpKind::Load ? size_t{ir::LoadOp::at_index}
                                                : size_t{ir::StoreOp::at_index});
}

const Value* AccessedTensor(const Op* op) {
  return op->operand(op->kind() == OpKind::Load ? op->SegmentBegin(ir::LoadOp::at_tensor)
                                                : op->SegmentBegin(ir::StoreOp::at_tensor));
}

/// Returns the axes that the indices cover, if each of these axes is the index of one dimension, with a step
/// of 1. Returns an empty list if the elements do not form a rectangular region.
std::vector<AxisId> CopyAxes(const Op* op) {
  std::vector<AxisId> axes;
  for (const ir::AccessDim& dim : op->attr<AttrKey::Access>().dims) {
    int walked = 0;
    for (const ir::AccessTerm& term : dim.terms) {
      ir::Type type = AccessIndices(op)[term.operand]->type();
      if (type->kind != ir::TypeKind::Block) {
        if (!type->axes.empty()) return {};
        continue;
      }
      bool again = std::ranges::find(axes, type->axes[0]) != axes.end();
      if (again || ++walked > 1 || !IsConstant(term.coefficient, 1)) return {};
      axes.push_back(type->axes[0]);
    }
  }
  return axes;
}

/// Whether the op has no mask and accesses only elements that are in bounds, in memory that all clusters can
/// access. Tensors of `bool` do not qualify: true may be any nonzero byte in a caller's memory, but must be 1
/// in a tile, so these bytes cannot be copied unchanged.
bool IsPlain(const Op* op) {
  auto bounds_mode = op->attr<AttrKey::BoundsMode>();
  bool inside = bounds_mode == ir::BoundsMode::Clip || bounds_mode == ir::BoundsMode::Proven;
  bool masked = op->kind() == OpKind::Load ? !op->Segment(ir::LoadOp::at_mask).empty()
                                           : !op->Segment(ir::StoreOp::at_mask).empty();
  return inside && !masked && AccessedTensor(op)->type()->scalar != Scalar::Bool &&
         !op->HasAttr(AttrKey::Leading) && !ir::MemoryOf(AccessedTensor(op))->def();
}

}  // namespace

bool IsStaged(const Op* op) {
  if ((op->kind() != OpKind::Load && op->kind() != OpKind::Store) || !IsPlain(op)) return false;
  std::vector<AxisId> copied = CopyAxes(op);
  std::ranges::sort(copied);
  const Value* tile = op->kind() == OpKind::Load ? op->result() : op->operand(0);
  return !copied.empty() && tile->type()->axes == copied;
}

Op* StagedLoads::Find(Op* load) {
  if (!proofs::IsInput(AccessedTensor(load))) return nullptr;
  std::vector<Op*>& loads = loads_[load->parent_region()];
  auto same = std::ranges::find_if(loads, [&](const Op* other) {
    return other->operands() == load->operands() &&
           other->attr<AttrKey::Access>() == load->attr<AttrKey::Access>();
  });
  if (same != loads.end()) return *same;
  loads.push_back(load);
  return nullptr;
}

namespace {

bool Touches(const Op* op, const Value* memory, bool only_changes) {
  bool touches = false;
  for (size_t s = 0; s < op->info().operands.size(); ++s) {
    ir::Effect effect = op->info().operands[s].effect;
    if (effect == ir::Effect::Shows || (only_changes && effect == ir::Effect::Read)) continue;
    for (const Value* operand : op->Segment(s))
      touches |= operand->type()->kind == ir::TypeKind::Tensor && ir::MemoryOf(operand) == memory;
  }
  return touches;
}

/// Whether the op `moved` can be moved past `other`. Loads are moved up, and stores are moved down. A load stays after
/// assertions, because only these may show that its region is in bounds.
bool MayPass(const Op* moved, const Op* other) {
  if (!other->regions().empty() || other->info().has(ir::kTerminator) ||
      other->info().has(ir::kSyncs) || other->info().has(ir::kSuspends))
    return false;
  bool loads = moved->kind() == OpKind::Load;
  if (loads && ir::MayTrap(other)) return false;
  if (Touches(other, ir::MemoryOf(AccessedTensor(moved)), loads)) return false;
  auto uses = [&](const Op* user, const Op* made) {
    return std::ranges::any_of(user->operands(),
                               [&](const Value* operand) { return operand->def() == made; });
  };
  return loads ? !uses(moved, other) : true;
}

void Hoist(Op* load) {
  Op* before = load;
  while (before->prev() && MayPass(load, before->prev()) &&
         !before->prev()->HasAttr(AttrKey::Copied))
    before = before->prev();
  if (before == load) return;
  ir::Region* region = load->parent_region();
  region->Remove(load);
  region->InsertBefore(load, before);
}

void Sink(Op* store) {
  Op* after = store->next();
  while (after && MayPass(store, after)) after = after->next();
  if (after == store->next()) return;
  ir::Region* region = store->parent_region();
  region->Remove(store);
  region->InsertBefore(store, after);
}

}  // namespace

void RunCopyTiles(PassContext&, ir::Function& kernel) {
  std::vector<Op*> loads;
  std::vector<Op*> stores;
  ir::Walk(kernel.body, [&](Op* op) {
    if (!IsStaged(op)) return;
    op->SetAttr(ir::MakeAttr<AttrKey::Copied>(1));
    (op->kind() == OpKind::Load ? loads : stores).push_back(op);
  });
  StagedLoads made;
  for (Op* load : loads) {
    if (const Op* same = made.Find(load)) {
      load->result()->ReplaceAllUsesWith(same->result());
      ir::Erase(load);
    } else {
      Hoist(load);
    }
  }
  for (auto store = stores.rbegin(); store != stores.rend(); ++store) Sink(*store);
}

}  // namespace kdl::cluster
