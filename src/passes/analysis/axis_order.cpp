#include "passes/analysis/axis_order.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "ir/format.h"
#include "ir/op_kind.h"

namespace kdl::passes {

namespace {

constexpr int kLoadedLast = 1;
constexpr int kStoredLast = 2;
constexpr int kInnermost = 1 << 20;  // larger than any weight that reductions can reach

/// Returns the axis along which an index operand varies: the axis of a block, or that of the elementwise loop
/// whose index the operand is. Returns nothing for other operands.
std::optional<AxisId> WalkedAxis(const Value* index) {
  if (index->type()->kind == ir::TypeKind::Block) return index->type()->axes[0];
  const Op* elementwise = index->parent_region() ? index->parent_region()->parent() : nullptr;
  if (!elementwise || elementwise->kind() != OpKind::Elementwise) return std::nullopt;
  return elementwise->operand(index->index())->type()->axes[0];
}

bool Folds(OpKind kind) {
  return kind == OpKind::Reduce || kind == OpKind::Contraction || kind == OpKind::MultiReduce ||
         kind == OpKind::Scan || kind == OpKind::ReduceInLoop || kind == OpKind::ScanInLoop;
}

/// Returns the axes of the values that `op` reduces. For a reduction or scan in an elementwise loop, these are
/// the loop's axes.
AxisList FoldedFrom(const Op* op) {
  AxisList axes;
  bool in_loop = op->kind() == OpKind::ReduceInLoop || op->kind() == OpKind::ScanInLoop;
  std::span<Value* const> values =
      in_loop ? op->parent_region()->parent()->operands() : op->operands();
  for (const Value* value : values)
    axes.insert(axes.end(), value->type()->axes.begin(), value->type()->axes.end());
  return axes;
}

/// Returns the axes of the result over which `op` does not reduce.
AxisList KeptAxes(const Op* op) {
  bool in_loop = op->kind() == OpKind::ScanInLoop;
  AxisList kept = in_loop ? FoldedFrom(op) : op->result(0)->type()->axes;
  if (in_loop || op->kind() == OpKind::Scan) std::erase(kept, op->attr<AttrKey::Axes>()[0]);
  return kept;
}

}  // namespace

AxisOrder::AxisOrder(const ir::Function& kernel) : weight_(kernel.axes.size(), 0) {
  for (uint32_t i = 0; i < kernel.axes.size(); ++i) {
    whole_.emplace_back(i);
    if (kernel.axes[i].innermost) weight_[i] = kInnermost;
  }
  ir::Walk(kernel.body, [&](const Op* op) {
    if (op->kind() == OpKind::Split) {
      AxisId axis = op->region()->param(0)->type()->axes[0];
      whole_[axis.value] = kernel.axis(axis).parent;
    }
  });
  // An axis has a larger number than the axis that it splits, so one loop resolves splits of splits.
  for (AxisId& whole : whole_) whole = whole_[whole.value];
  StudyAccesses(kernel);
  // One reduction may raise the weight of an axis that must come before the axes of another reduction. The
  // loop therefore repeats until no axis moves. Each round fixes the position of at least one axis. Axes that
  // result from splitting another axis do not count, so that the order is the same before and after a
  // reduction is split.
  for (uint32_t i = 0; i < whole_.size(); ++i) {
    if (whole_[i] == AxisId(i) && !StudyFolds(kernel)) break;
  }
}

void AxisOrder::StudyAccesses(const ir::Function& kernel) {
  ir::Walk(kernel.body, [&](const Op* op) {
    if (!op->HasAttr(AttrKey::Access)) return;
    ir::Access access = op->attr<AttrKey::Access>();
    if (access.dims.empty()) return;
    for (const ir::AccessTerm& term : access.dims.back().terms) {
      auto axis = WalkedAxis(op->Segment(ir::AccessOperands(op->kind()))[term.operand]);
      if (axis && IsConstant(term.coefficient, 1))
        Raise(*axis, (op->kind() == OpKind::Store ? kStoredLast : kLoadedLast) - 1);
    }
  });
}

bool AxisOrder::StudyFolds(const ir::Function& kernel) {
  const std::vector<int> before = weight_;
  Followers after(whole_.size(), std::vector<bool>(whole_.size()));
  ir::Walk(kernel.body, [&](const Op* op) {
    if (!Folds(op->kind())) return;
    const AxisList folded = op->attr<AttrKey::Axes>();
    if (op->HasAttr(AttrKey::Order) && op->attr<AttrKey::Order>() == ir::OrderKind::Lanes64) {
      for (AxisId axis : FoldedFrom(op)) {
        if (axis != folded.back()) Follow(folded.back(), axis, after);
      }
    } else if (const AxisList kept = KeptAxes(op); !kept.empty()) {
      AxisId last = Sorted(kept).back();
      for (AxisId axis : folded) Follow(last, axis, after);
    }
  });
  return weight_ != before;
}

void AxisOrder::Follow(AxisId axis, AxisId other, Followers& after) {
  uint32_t last = Whole(axis).value;
  uint32_t first = Whole(other).value;
  bool stays = weight_[last] == 0 && weight_[first] >= kInnermost;
  if (last == first || after[first][last] || stays) return;
  if (!after[last][first]) {
    for (uint32_t i = 0; i < after.size(); ++i) {
      if (i != last && !after[i][last]) continue;
      after[i][first] = true;
      for (uint32_t j = 0; j < after.size(); ++j)
        if (after[first][j]) after[i][j] = true;
    }
  }
  Raise(axis, weight_[first]);
}

void AxisOrder::Raise(AxisId axis, int above) {
  int& weight = weight_[Whole(axis).value];
  weight = std::max(weight, above + 1);
}

AxisList AxisOrder::Sorted(AxisList axes) const {
  std::sort(axes.begin(), axes.end(), [&](AxisId a, AxisId b) {
    auto place = [&](AxisId axis) {
      return std::tuple(weight_[Whole(axis).value], Whole(axis), axis);
    };
    return place(a) < place(b);
  });
  return axes;
}

}  // namespace kdl::passes
