#include "targets/cpu/analysis/sliding_window.h"

#include "ir/views.h"
#include "targets/cpu/analysis/register_block.h"

namespace kdl::cpu {

bool FitsElement(const Op* op) { return op->kind() == OpKind::Cast || op->kind() == OpKind::Flush; }

bool MayShareWindow(const Op* load_op) {
  ir::LoadOp load(const_cast<Op*>(load_op));
  auto bounds_mode = load->attr<AttrKey::BoundsMode>();
  bool inside = bounds_mode == ir::BoundsMode::Proven || bounds_mode == ir::BoundsMode::Else;
  bool plain = !load.mask() && (!load.otherwise() || ir::IsScalar(load.otherwise()->type()));
  const Value* value = load.result();
  if (!inside || !plain || !ir::IsTile(value->type()) || value->uses().size() != 1) return false;
  const Op* user = value->uses()[0].user;
  while (FitsElement(user) && user->result()->uses().size() == 1)
    user = user->result()->uses()[0].user;
  bool folds = user->kind() == OpKind::Contraction || user->kind() == OpKind::Reduce;
  return folds && user->parent_region() == load->parent_region() &&
         user->attr<AttrKey::Order>() == ir::OrderKind::Sequential;
}

AxisId AxisOfTerm(const Op* sliding_window, const ir::AccessTerm& term) {
  return sliding_window->Segment(ir::SlidingWindowOp::at_index)[term.operand]->type()->axes[0];
}

bool RunsAlong(const Op* sliding_window, AxisId window, AxisId axis) {
  const ir::AxisList over = sliding_window->attr<AttrKey::Axes>();
  const ir::Access access = sliding_window->attr<AttrKey::Access>();
  bool moves = false;
  for (size_t d = 0; d < over.size(); ++d) {
    for (const ir::AccessTerm& term : access.dims[d].terms) {
      if (AxisOfTerm(sliding_window, term) != axis) continue;
      if (over[d] != window || !IsConstant(term.coefficient, 1)) return false;
      moves = true;
    }
  }
  bool kept = HasAxis(sliding_window->operand(0), axis) && !Contains(over, axis);
  return kept ? !moves && window == axis : moves;
}

const Op* SlidingWindowInPlace(const KernelShape& kernel, const Value* tile, AxisId window,
                               const Op* fold) {
  const Op* sliding_window = tile->def();
  if (!sliding_window || sliding_window->kind() != OpKind::SlidingWindow ||
      tile->uses().size() != 1)
    return nullptr;
  bool is_sequential = (fold->kind() == OpKind::Contraction || fold->kind() == OpKind::Reduce) &&
                       fold->attr<AttrKey::Order>() == ir::OrderKind::Sequential;
  bool is_start = fold->kind() == OpKind::Contraction &&
                  tile == ir::ContractionOp(const_cast<Op*>(fold)).into();
  if (!is_sequential || is_start || fold->parent_region() != sliding_window->parent_region())
    return nullptr;
  std::optional<AxisId> column = RegisterBlock::ChooseFor(kernel, *fold).column;
  bool fits = !column || !HasAxis(sliding_window->result(), *column) ||
              RunsAlong(sliding_window, window, *column);
  return fits ? sliding_window : nullptr;
}

}  // namespace kdl::cpu
