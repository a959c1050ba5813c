#include "targets/cpu/analysis/rereads.h"

#include <algorithm>
#include <optional>

#include "ir/format.h"
#include "ir/lookup.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/facts.h"

namespace kdl::cpu {

namespace {

/// Returns the block to which an index of a load refers: the index itself or, in an elementwise loop, the
/// block over which the index runs. Otherwise returns null.
const Value* IndexedBlock(const Value* index, const Op* load) {
  if (index->type()->kind == ir::TypeKind::Block) return index;
  const Op* elementwise = load->parent_region()->parent();
  if (!elementwise || elementwise->kind() != OpKind::Elementwise) return nullptr;
  const auto& points = load->parent_region()->params();
  auto found = std::find(points.begin(), points.end(), index);
  return found == points.end() ? nullptr
                               : elementwise->operand(static_cast<size_t>(found - points.begin()));
}

/// Whether the ops are in different branches of the same condition, so that only one of them is executed.
bool Exclude(const Op* a, const Op* b) {
  for (const ir::Region* of_a = a->parent_region(); of_a->parent();
       of_a = of_a->parent()->parent_region()) {
    if (of_a->parent()->kind() != OpKind::If) continue;
    for (const ir::Region* of_b = b->parent_region(); of_b->parent();
         of_b = of_b->parent()->parent_region()) {
      const Op* branch = of_b->parent();
      bool same = branch->kind() == OpKind::If && branch->operand(0) == of_a->parent()->operand(0);
      if (same && (of_a == of_a->parent()->region(0)) != (of_b == branch->region(0))) return true;
    }
  }
  return false;
}

/// Says which index of a load selects the rows that the load reads: the index in the outermost dimension that
/// only one block indexes. The last dimension does not count.
struct RowIndex {
  size_t operand;
  size_t dim;
};
std::optional<RowIndex> RowIndexOf(const Op* load) {
  ir::Access access = load->attr<AttrKey::Access>();
  auto index = load->Segment(ir::AccessOperands(OpKind::Load));
  for (size_t d = 0; d + 1 < access.dims.size(); ++d) {
    const auto& terms = access.dims[d].terms;
    if (terms.size() == 1 && IsConstant(terms[0].coefficient, 1) &&
        IndexedBlock(index[terms[0].operand], load))
      return RowIndex{terms[0].operand, d};
  }
  return std::nullopt;
}

/// Loads of the same rows of a tensor, grouped by pass over the rows.
struct Group {
  Rereads::Rows rows;
  ir::Access access;
  struct Pass {
    const Op* pass;
    const Op* load;  ///< the first load of these rows in the pass
  };
  std::vector<Pass> passes;  ///< in program order
};

}  // namespace

Rereads::Rereads(const ir::Function& kernel) {
  std::vector<Group> groups;
  auto group_of = [&](const Op* op, RowIndex row) -> Group& {
    ir::LoadOp load(const_cast<Op*>(op));
    const Value* block = IndexedBlock(load.index()[row.operand], op);
    ir::Access access = op->attr<AttrKey::Access>();
    for (Group& group : groups) {
      if (group.rows.block == block && group.rows.tensor == load.tensor() && group.access == access)
        return group;
    }
    return groups.emplace_back(Group{{block, load.tensor(), row.dim}, access, {}});
  };
  ir::Walk(kernel.body, [&](const Op* op) {
    std::optional<RowIndex> row = op->kind() == OpKind::Load ? RowIndexOf(op) : std::nullopt;
    if (!row) return;
    Group& group = group_of(op, *row);
    const Op* pass = passes::AncestorIn(passes::MadeIn(group.rows.block), op);
    bool is_new = group.passes.empty() || group.passes.back().pass != pass;
    if (is_new && !group.passes.empty() && Exclude(group.passes.back().load, op)) return;
    if (is_new) group.passes.push_back({pass, op});
    if (group.passes.size() > 1)
      again_[op] = {row->operand, row->dim, is_new && group.passes.size() == 2, false};
  });
  for (const Group& group : groups) {
    if (group.passes.size() == 1) continue;
    again_.at(group.passes.back().load).last = true;
    rows_.push_back(group.rows);
  }
}

const Rereads::Again* Rereads::FindAgain(const Op* load) const {
  auto found = again_.find(load);
  return found == again_.end() ? nullptr : &found->second;
}

Value* BytesPerIndex(ir::Builder& b, const Value* tensor, size_t dim) {
  Value* bytes = b.I64(Bytes(tensor->type()->scalar));
  for (size_t d = dim + 1; d < tensor->type()->dims.size(); ++d)
    bytes = b.Mul(bytes, b.SizeValue(tensor->type()->dims[d]));
  return bytes;
}

bool Rereads::HasRows(const Value* block) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [&](const Rows& rows) { return rows.block == block; });
}

bool Rereads::HasRowsOf(const Value* tensor) const {
  return std::ranges::any_of(rows_, [&](const Rows& rows) { return rows.tensor == tensor; });
}

}  // namespace kdl::cpu
