#include "proofs/ragged.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "ir/lookup.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "proofs/summands.h"
#include "support/contains.h"

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
  bool reads = false;   ///< whether a tensor is read
  bool varies = false;  ///< whether a value depends on the number of the block

  std::unordered_map<const Value*, bool> known = {};

  bool IsAgreed(const Value* value) {
    if (auto found = known.find(value); found != known.end()) return found->second;
    bool is = Find(value);
    known[value] = is;
    return is;
  }

  bool Find(const Value* value) {
    if (value == binder) return varies = true;
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

/// Returns the values that accesses in a loop add to its iteration number, each once.
std::vector<const Value*> ShiftsIn(const Op* loop) {
  const Value* iteration = loop->region()->param(0);
  std::vector<const Value*> shifts;
  for (const AccessView& view : AccessesIn(loop->region())) {
    ir::Access access = view.access();
    for (const ir::AccessDim& dim : access.dims) {
      std::vector<const Value*> summands = SummandsOf(view, dim);
      if (summands.size() != 2) continue;
      const Value* first = summands[0];
      const Value* second = summands[1];
      const Value* shift = second == iteration ? first : first == iteration ? second : nullptr;
      if (shift && !Contains(shifts, shift)) shifts.push_back(shift);
    }
  }
  return shifts;
}

/// Finds the parts of a kernel, each once.
class RaggedFinder {
 public:
  explicit RaggedFinder(Terms& terms) : terms_(terms) {}

  void AddPartsOf(Op* walk, const Op* loop) {
    for (const Value* binder : walk->region()->params()) {
      if (binder->type()->kind == ir::TypeKind::Block || !IsSameOnAllCores(walk, binder)) continue;
      Add({{walk, binder, loop}});
      for (const Value* shift : ShiftsIn(loop)) Add({{walk, binder, loop, shift}});
    }
  }

  std::vector<Ragged> found;

 private:
  static bool IsSameOnAllCores(const Op* walk, const Value* binder) {
    Agreed of_launch{nullptr, true};
    return of_launch.IsAgreed(walk->operand(2 * binder->index())) &&
           of_launch.IsAgreed(walk->operand(2 * binder->index() + 1));
  }

  void Add(Ragged part) {
    Agreed begin{part.binder};
    Agreed end{part.binder};
    bool is_known = begin.IsAgreed(part.from()) && end.IsAgreed(part.to()) &&
                    (!part.shift || begin.IsAgreed(part.shift));
    // If all parts begin at the same place, at most one is not empty.
    bool is_part = is_known && begin.varies && (begin.reads || end.reads);
    if (!IsChained(part) && !is_part) return;
    part.lower = terms_.PolyOfValue(part.from());
    part.upper = terms_.PolyOfValue(part.to());
    if (part.shift) {
      part.lower = part.lower + terms_.PolyOfValue(part.shift);
      part.upper = part.upper + terms_.PolyOfValue(part.shift);
    }
    bool is_listed = std::ranges::any_of(found, [&](const Ragged& other) {
      return other.binder == part.binder && other.lower == part.lower && other.upper == part.upper;
    });
    if (!is_listed) found.push_back(std::move(part));
  }

  Terms& terms_;
};

}  // namespace

std::vector<Ragged> RaggedOf(const ir::Function& kernel, Terms& terms) {
  RaggedFinder finder(terms);
  ir::Walk(kernel.body, [&](Op* walk) {
    if (walk->kind() != OpKind::Spmd || Around(walk, OpKind::Stage)) return;
    ir::Walk(walk->region(), [&](const Op* loop) {
      if (loop->kind() == OpKind::For || loop->kind() == OpKind::Loop)
        finder.AddPartsOf(walk, loop);
    });
  });
  return finder.found;
}

bool IsChained(const Parts& parts) {
  if (parts.shift) return false;
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
