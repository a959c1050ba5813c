#include "proofs/ragged.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "ir/lookup.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"

namespace kdl::proofs {

namespace {

bool IsTable(const AccessView& view) {
  return IsInput(view.tensor) && !view.mask && !view.has_else();
}

/// Returns whether an index is exactly the number of a block, or a value loaded from a table. With an offset,
/// it would refer to another block.
bool IsPlace(const ir::AccessDim& dim, const AccessView& view, const Value* binder) {
  bool is_one =
      dim.terms.size() == 1 && IsConstant(dim.terms[0].coefficient, 1) && IsConstant(dim.offset, 0);
  if (dim.terms.empty()) return true;
  const Value* index = view.index[dim.terms[0].operand];
  return is_one && (index == binder || (index->def() && index->def()->kind() == OpKind::Load));
}

/// Finds values that are the same on all cores. They depend only on values that are the same throughout a
/// launch, and on elements of `in` tensors that are read only at the index of one block.
struct Agreed {
  const Value* binder = nullptr;  ///< the number of the block
  /// Whether values may also depend on iteration numbers of loops other than `spmd for`.
  bool loops = false;
  bool reads = false;  ///< whether a tensor is read

  std::unordered_map<const Value*, bool> known = {};

  bool IsAgreed(const Value* value) {
    if (auto found = known.find(value); found != known.end()) return found->second;
    bool is = Find(value);
    known[value] = is;
    return is;
  }

  bool Find(const Value* value) {
    if (value == binder) return true;
    if (!ir::IsScalar(value->type())) return false;
    const Op* def = value->def();
    if (!def) return !value->parent_region()->parent() || IsIteration(value);
    std::span<Value* const> operands = def->operands();
    if (def->kind() == OpKind::Load) {
      AccessView view = *FindAccess(const_cast<Op*>(def));
      if (!IsTable(view)) return false;
      ir::Access access = view.access();
      bool of_block = std::ranges::all_of(
          access.dims, [&](const ir::AccessDim& dim) { return IsPlace(dim, view, binder); });
      if (binder && !of_block) return false;
      reads = true;
      operands = view.index;
    } else if (!def->info().has(ir::kPure) || def->kind() == OpKind::CoreId) {
      return false;
    }
    return std::ranges::all_of(operands, [&](const Value* operand) { return IsAgreed(operand); });
  }

  bool IsIteration(const Value* param) {
    std::optional<LoopEnds> ends = LoopEndsOf(param);
    bool counts = loops && ends && param->parent_region()->parent()->kind() != OpKind::Spmd;
    return counts && IsAgreed(ends->lo) && IsAgreed(ends->hi);
  }
};

struct TableIndex {
  const Value* tensor;
  const Value* index;
  int64_t offset;
};

/// Matches a load of table[index + offset] from a one-dimensional table.
std::optional<TableIndex> TableIndexOf(const Op* op) {
  if (!op || op->kind() != OpKind::Load) return std::nullopt;
  AccessView view = *FindAccess(const_cast<Op*>(op));
  ir::Access access = view.access();
  if (!IsTable(view)) return std::nullopt;
  if (access.dims.size() != 1 || access.dims[0].terms.size() != 1) return std::nullopt;
  const ir::AccessTerm& term = access.dims[0].terms[0];
  if (!IsConstant(term.coefficient, 1) || !IsConstant(access.dims[0].offset)) return std::nullopt;
  return TableIndex{view.tensor, view.index[term.operand], access.dims[0].offset->value};
}

}  // namespace

std::vector<Ragged> RaggedOf(const ir::Function& kernel, Terms& terms) {
  std::vector<Ragged> found;
  auto add = [&](Op* walk, const Op* loop) {
    for (const Value* binder : walk->region()->params()) {
      if (binder->type()->kind == ir::TypeKind::Block) continue;
      Agreed of_launch{nullptr, true};
      Agreed of_block{binder};
      bool walks = of_launch.IsAgreed(walk->operand(2 * binder->index())) &&
                   of_launch.IsAgreed(walk->operand(2 * binder->index() + 1));
      bool bounds = of_block.IsAgreed(loop->operand(0)) && of_block.IsAgreed(loop->operand(1)) &&
                    of_block.reads;
      Ragged part{{walk, binder, loop}};
      if (!walks || !(bounds || IsChained(part))) continue;
      part.lower = terms.PolyOfValue(part.from());
      part.upper = terms.PolyOfValue(part.to());
      bool is_known = std::ranges::any_of(found, [&](const Ragged& other) {
        return other.binder == binder && other.lower == part.lower && other.upper == part.upper;
      });
      if (!is_known) found.push_back(std::move(part));
    }
  };
  ir::Walk(kernel.body, [&](Op* walk) {
    if (walk->kind() != OpKind::Spmd || Around(walk, OpKind::Stage)) return;
    ir::Walk(walk->region(), [&](const Op* loop) {
      if (loop->kind() == OpKind::For || loop->kind() == OpKind::Loop) add(walk, loop);
    });
  });
  return found;
}

bool IsChained(const Parts& parts) {
  const Op* from = parts.from()->def();
  const Op* to = parts.to()->def();
  while (from && to && from->kind() == OpKind::Cast && to->kind() == OpKind::Cast &&
         from->result()->type() == to->result()->type()) {
    from = from->operand(0)->def();
    to = to->operand(0)->def();
  }
  std::optional<TableIndex> first = TableIndexOf(from);
  std::optional<TableIndex> last = TableIndexOf(to);
  return first && last && first->tensor == last->tensor && first->index == parts.binder &&
         last->index == parts.binder && last->offset == first->offset + 1;
}

std::vector<size_t> PartsAround(const std::vector<Ragged>& ragged, const Value* memory) {
  std::vector<size_t> parts;
  for (size_t i = 0; i < ragged.size(); ++i) {
    std::vector<AccessView> views = AccessesIn(ragged[i].walk->region());
    bool touches = std::ranges::any_of(
        views, [&](const AccessView& view) { return ir::MemoryOf(view.tensor) == memory; });
    if (touches) parts.push_back(i);
  }
  return parts;
}

std::optional<std::vector<size_t>> FewestOf(
    const std::vector<size_t>& all, const std::function<bool(const std::vector<size_t>&)>& holds) {
  std::vector<size_t> taken = all;
  if (taken.empty() || !holds(taken)) return std::nullopt;
  for (size_t i = taken.size(); taken.size() > 1 && i-- > 0;) {
    std::vector<size_t> fewer = taken;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (holds(fewer)) taken = std::move(fewer);
  }
  return taken;
}

}  // namespace kdl::proofs
