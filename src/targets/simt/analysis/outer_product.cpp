#include "targets/simt/analysis/outer_product.h"

#include <algorithm>

namespace kdl::simt {

using ir::AttrKey;
using ir::AxisId;
using ir::AxisList;

std::optional<AxisList> OuterAxes(const ir::Op* op) {
  if (op->attr<AttrKey::Order>() != ir::OrderKind::Sequential) return std::nullopt;
  AxisList folded = op->attr<AttrKey::Axes>();
  AxisList kept;
  for (size_t i = 0; i < 2; ++i) {
    const AxisList& axes = op->operand(i)->type()->axes;
    if (axes.size() != folded.size() + 1) return std::nullopt;
    for (AxisId axis : axes) {
      if (std::ranges::find(folded, axis) == folded.end()) kept.push_back(axis);
    }
    if (kept.size() != i + 1) return std::nullopt;
  }
  AxisList sorted = kept;
  std::ranges::sort(sorted);
  bool fits = sorted == op->result()->type()->axes && kept[0] != kept[1];
  return fits ? std::optional(kept) : std::nullopt;
}

}  // namespace kdl::simt
