#include "proofs/accesses.h"

#include <algorithm>
#include <utility>

#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"

namespace kdl::proofs {

std::optional<AccessView> FindAccess(Op* op) {
  if (!op->HasAttr(AttrKey::Access) || !op->HasAttr(AttrKey::BoundsMode)) return std::nullopt;
  AccessView view{op, nullptr, {}, ir::Effect::Read, nullptr};
  const auto& specs = op->info().operands;
  for (size_t s = 0; s < specs.size(); ++s) {
    std::span<Value* const> operands = op->Segment(s);
    switch (specs[s].effect) {
      case ir::Effect::Read:
      case ir::Effect::Write:
      case ir::Effect::Change:
      case ir::Effect::Accumulate:
        view.tensor = operands[0];
        view.effect = specs[s].effect;
        break;
      case ir::Effect::Index:
        view.index = operands;
        break;
      case ir::Effect::Mask:
        if (!operands.empty()) view.mask = operands[0];
        break;
      case ir::Effect::Value:
      case ir::Effect::Shows:
      case ir::Effect::ByCallee:
      case ir::Effect::Awaits:
        break;
    }
  }
  return view.tensor ? std::optional(view) : std::nullopt;
}

std::vector<AccessView> AccessesIn(const ir::Region* region) {
  std::vector<AccessView> views;
  ir::Walk(region, [&](Op* op) {
    if (std::optional<AccessView> view = FindAccess(op)) views.push_back(*view);
  });
  return views;
}

const ir::Value* AccessView::plain_index(size_t dim) const {
  ir::Access all = access();
  const ir::AccessDim& at = all.dims[dim];
  bool is_plain =
      at.terms.size() == 1 && IsConstant(at.offset, 0) && IsConstant(at.terms[0].coefficient, 1);
  return is_plain ? index[at.terms[0].operand] : nullptr;
}

ir::AxisList AccessView::axes() const {
  ir::AxisList axes;
  for (const Value* operand : index) axes = ir::UnionAxes(axes, operand->type()->axes);
  return axes;
}

bool AccessView::is_write() const {
  return effect == ir::Effect::Write ||
         (op->HasAttr(AttrKey::How) && op->attr<AttrKey::How>() == ir::UpdateKind::Set);
}

bool AccessView::is_fill() const { return op->HasAttr(AttrKey::Fills); }

bool AreAtBinder(std::span<const AccessView> views, const ir::Value* binder) {
  bool is_one = std::ranges::all_of(
      views, [&](const AccessView& view) { return view.tensor == views[0].tensor; });
  for (size_t d = 0; is_one && d < views[0].rank(); ++d) {
    bool alike = std::ranges::all_of(
        views, [&](const AccessView& view) { return view.plain_index(d) == binder; });
    if (alike) return true;
  }
  return false;
}

std::optional<LoopEnds> LoopEndsOf(const Value* param) {
  Op* op = param->parent_region() ? param->parent_region()->parent() : nullptr;
  if (!op) return std::nullopt;
  if (op->kind() == OpKind::Spmd) {
    size_t first = static_cast<size_t>(param->index()) * 2;
    return LoopEnds{op->operand(first), op->operand(first + 1)};
  }
  bool is_binder = (op->kind() == OpKind::For || op->kind() == OpKind::Loop) && param->index() == 0;
  return is_binder ? std::optional(LoopEnds{op->operand(0), op->operand(1)}) : std::nullopt;
}

const Value* BlockEndingAt(const Op* sum) {
  if (!sum || sum->kind() != OpKind::Add) return nullptr;
  const Op* start = sum->operand(0)->def();
  const Op* size = sum->operand(1)->def();
  if (start && start->kind() == OpKind::BlockSize) std::swap(start, size);
  bool are_of_one = start && size && start->kind() == OpKind::BlockStart &&
                    size->kind() == OpKind::BlockSize && start->operand(0) == size->operand(0);
  const Value* block = are_of_one ? start->operand(0) : nullptr;
  return block && !block->def() ? block : nullptr;
}

const Value* OutermostRange(const Value* part) {
  for (;;) {
    std::optional<LoopEnds> ends = part->def() ? std::nullopt : LoopEndsOf(part);
    const Value* around = ends ? BlockEndingAt(ends->hi->def()) : nullptr;
    const Op* start = ends ? ends->lo->def() : nullptr;
    bool is_part =
        around && start && start->kind() == OpKind::BlockStart && start->operand(0) == around;
    if (!is_part) return part;
    part = around;
  }
}

std::vector<AccessView> AccessesOf(const Value* memory) {
  std::vector<AccessView> views;
  for (ir::Op* op : ir::UsersOfMemory(memory)) {
    std::optional<AccessView> view = FindAccess(op);
    if (view && ir::MemoryOf(view->tensor) == memory) views.push_back(*view);
  }
  return views;
}

bool IsLoop(const Op* op) {
  return op->kind() == OpKind::Spmd || op->kind() == OpKind::For || op->kind() == OpKind::Loop ||
         op->kind() == OpKind::While;
}

const Op* LoopOf(const Op* op) {
  while (op && !IsLoop(op)) op = op->parent_region()->parent();
  return op;
}

}  // namespace kdl::proofs
