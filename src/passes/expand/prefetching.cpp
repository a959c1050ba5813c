#include "passes/expand/prefetching.h"

#include <algorithm>

#include "ir/format.h"
#include "passes/expand/expander.h"
#include "passes/rewrite.h"

namespace kdl::passes {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

bool SameElement(const Op* load, const Op* store) {
  auto of_load = load->Segment(ir::AccessOperands(OpKind::Load));
  auto of_store = store->Segment(ir::AccessOperands(OpKind::Store));
  return load->Segment(ir::LoadOp::at_tensor)[0] == store->Segment(ir::StoreOp::at_tensor)[0] &&
         load->attr<AttrKey::Access>() == store->attr<AttrKey::Access>() &&
         std::ranges::equal(of_load, of_store);
}

bool Contains(const std::vector<const Op*>& ops, const Op* op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

}  // namespace

Prefetching::Prefetching(const Expander& e, const Op* nest, bool transposes) {
  std::vector<const Op*> loads;
  for (const Op* op : *nest->region()) {
    if (!op->HasAttr(AttrKey::Edge)) continue;
    bool stores = op->kind() == OpKind::Store;
    if (!stores) loads.push_back(op);
    for (const Op* load : loads) {
      if (!stores || !SameElement(load, op)) continue;
      written_.push_back(load);
      loaded_.push_back(op);
    }
    int64_t bytes = Bytes((stores ? op->operand(0) : op->result())->type()->scalar);
    if (!point_) LookAhead(e, nest, bytes, transposes);
  }
}

/// Squares go along the lines that are stored to: the next line. Else along the nest's rows where they are long, else
/// some rows on.
void Prefetching::LookAhead(const Expander& e, const Op* nest, int64_t bytes, bool transposes) {
  constexpr int64_t kLongRow = 4096;  // bytes
  constexpr int64_t kAlongRow = 2048;
  constexpr int64_t kRowsOn = 4096;
  const auto& points = nest->region()->params();
  ir::AxisId last = nest->operands().back()->type()->axes[0];
  std::optional<int64_t> part;
  auto window = e.windows.find(last);
  if (window != e.windows.end()) part = ConstantOf(window->second.size);
  int64_t row = std::max<int64_t>(part.value_or(e.Extent(last)) * bytes, 1);
  if (transposes || row >= kLongRow) {
    point_ = points.back();
    distance_ = (transposes ? e.facts.cache_line_bytes : kAlongRow) / bytes;
  } else if (points.size() > 1) {
    point_ = points[points.size() - 2];
    distance_ = (kRowsOn + row - 1) / row;
  }
}

std::optional<ir::IntentKind> Prefetching::IntentOf(const Op* access) const {
  if (access->kind() == OpKind::Load)
    return Contains(written_, access) ? ir::IntentKind::Write : ir::IntentKind::Read;
  if (Contains(loaded_, access)) return std::nullopt;
  return ir::IntentKind::Write;
}

}  // namespace kdl::passes
