#include "proofs/ragged.h"

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>

#include "ir/lookup.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "proofs/summands.h"
#include "proofs/value_numbers.h"
#include "support/contains.h"

namespace kdl::proofs {

namespace {

bool IsTable(const AccessView& view) {
  return IsInput(view.tensor) && !view.mask && !view.has_else();
}

/// Finds values that are the same on all cores. They depend only on values that are the same throughout a
/// launch, and on elements of `in` tensors that are read only at the index of one part.
struct Agreed {
  const Value* binder = nullptr;  ///< the number of the part
  /// Loop variables that may choose a table for the parts.
  std::vector<const Value*> tables = {};
  /// If set, values may also depend on iteration numbers of loops other than `spmd for`, which are around this op.
  const Op* inside = nullptr;
  bool reads = false;                     ///< whether a tensor is read
  bool varies = false;                    ///< whether a value depends on the number of the part
  std::vector<const Value*> chosen = {};  ///< those of `tables` on which a value depends

  std::unordered_map<const Value*, bool> known = {};

  /// Returns whether an index is exactly the number of a part or of a table, or a value loaded from a table. With an
  /// offset, it would refer to another part.
  bool IsPlace(const ir::AccessDim& dim, const AccessView& view) const {
    bool is_one = dim.terms.size() == 1 && IsConstant(dim.terms[0].coefficient, 1) &&
                  IsConstant(dim.offset, 0);
    if (dim.terms.empty()) return true;
    const Value* index = view.index[dim.terms[0].operand];
    bool is_number = index == binder || Contains(tables, index);
    return is_one && (is_number || (index->def() && index->def()->kind() == OpKind::Load));
  }

  bool IsAgreed(const Value* value) {
    if (auto found = known.find(value); found != known.end()) return found->second;
    bool is = Find(value);
    known[value] = is;
    return is;
  }

  bool Find(const Value* value) {
    if (value == binder) return varies = true;
    if (Contains(tables, value)) {
      if (!Contains(chosen, value)) chosen.push_back(value);
      return true;
    }
    if (!ir::IsScalar(value->type())) return false;
    const Op* def = value->def();
    if (!def) return !value->parent_region()->parent() || IsIteration(value);
    std::span<Value* const> operands = def->operands();
    if (def->kind() == OpKind::Load) {
      AccessView view = *FindAccess(const_cast<Op*>(def));
      if (!IsTable(view)) return false;
      ir::Access access = view.access();
      bool of_block = std::ranges::all_of(
          access.dims, [&](const ir::AccessDim& dim) { return IsPlace(dim, view); });
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
    const Op* loop = param->parent_region()->parent();
    bool counts = inside && ends && loop->kind() != OpKind::Spmd && IsInside(inside, loop);
    return counts && IsAgreed(ends->lo) && IsAgreed(ends->hi);
  }
};

/// Returns the loop variables other than `binder` at which two loads read elements of one table that are next to each other
/// in a dimension with the index `binder`, as in off[b, e] and off[b, e + 1]. Returns nothing for other loads.
std::optional<std::vector<const Value*>> NeighboursAt(const Value* binder, const Op* from,
                                                      const Op* to) {
  if (!from || !to || from->kind() != OpKind::Load || to->kind() != OpKind::Load)
    return std::nullopt;
  AccessView first = *FindAccess(const_cast<Op*>(from));
  AccessView last = *FindAccess(const_cast<Op*>(to));
  if (!IsTable(first) || !IsTable(last) || first.tensor != last.tensor) return std::nullopt;
  ir::Access begin = first.access();
  ir::Access end = last.access();
  std::vector<const Value*> others;
  int steps = 0;
  for (size_t d = 0; d < begin.dims.size(); ++d) {
    const auto& [terms, offset] = begin.dims[d];
    if (terms.size() != end.dims[d].terms.size() || terms.size() > 1) return std::nullopt;
    if (!IsConstant(offset) || !IsConstant(end.dims[d].offset)) return std::nullopt;
    int64_t step = end.dims[d].offset->value - offset->value;
    const Value* index = terms.empty() ? nullptr : first.index[terms[0].operand];
    bool is_one = terms.empty() || (IsConstant(terms[0].coefficient, 1) &&
                                    IsConstant(end.dims[d].terms[0].coefficient, 1) &&
                                    index == last.index[end.dims[d].terms[0].operand]);
    if (!is_one || step != (index == binder ? 1 : 0)) return std::nullopt;
    steps += static_cast<int>(step);
    if (index && index != binder) others.push_back(index);
  }
  return steps == 1 ? std::optional(std::move(others)) : std::nullopt;
}

/// If the bounds of parts are neighbours in a table, returns the loop variables that choose the table.
std::optional<std::vector<const Value*>> TablesOfChain(const Parts& parts) {
  if (parts.shift) return std::nullopt;
  const Op* from = parts.from()->def();
  const Op* to = parts.to()->def();
  while (from && to && from->kind() == OpKind::Cast && to->kind() == OpKind::Cast &&
         from->result()->type() == to->result()->type()) {
    from = from->operand(0)->def();
    to = to->operand(0)->def();
  }
  return NeighboursAt(parts.binder, from, to);
}

/// Returns the values that accesses in a loop add to its iteration number, or to a part of its range, each once.
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
      const Value* shift = OutermostRange(second) == iteration  ? first
                           : OutermostRange(first) == iteration ? second
                                                                : nullptr;
      if (shift && !Contains(shifts, shift)) shifts.push_back(shift);
    }
  }
  return shifts;
}

/// Finds the parts of a kernel, each once.
class RaggedFinder {
 public:
  explicit RaggedFinder(Terms& terms) : terms_(terms) {}

  /// Adds the parts that the loop handles. Their numbers are those of an spmd, or of a loop between the spmd and this one. Tables
  /// are chosen by other variables of the spmd, or by loops around that of the number.
  void AddPartsOf(Op* walk, const Op* loop) {
    std::vector<const Value*> numbers = NumbersAround(walk, loop);
    for (size_t i = 0; i < numbers.size(); ++i) {
      std::vector<const Value*> others;
      for (size_t k = 0; k < numbers.size(); ++k) {
        bool is_of_spmd = numbers[k]->parent_region()->parent() == walk;
        if (k < i || (k > i && is_of_spmd)) others.push_back(numbers[k]);
      }
      Add({{walk, numbers[i], loop}}, others);
      for (const Value* shift : ShiftsIn(loop)) Add({{walk, numbers[i], loop, shift}}, others);
    }
  }

  /// Adds the parts that the loop handles if their numbers are those of a loop around it, which handles a part itself.
  void AddPartsOfParts(Op* walk, const Op* loop) {
    for (const Op* around = loop->parent_region()->parent(); around != walk;
         around = around->parent_region()->parent())
      AddPartsOfPart(walk, around, loop);
  }

  std::vector<Ragged> found;

 private:
  /// Returns whether the numbers of parts are known before the spmd, and are the same on all cores.
  static bool HaveAgreedEnds(const Op* walk, const Value* binder) {
    Agreed of_launch{.inside = walk};
    std::optional<LoopEnds> ends = LoopEndsOf(binder);
    return of_launch.IsAgreed(ends->lo) && of_launch.IsAgreed(ends->hi);
  }

  /// Returns the variables of an spmd, and of the loops between it and `inner`, that may be numbers of parts. The outermost
  /// one comes first.
  std::vector<const Value*> NumbersAround(const Op* walk, const Op* inner) {
    std::vector<const Value*> numbers;
    for (const Op* loop = inner->parent_region()->parent();;
         loop = loop->parent_region()->parent()) {
      bool takes_each =
          loop->kind() == OpKind::For || loop->kind() == OpKind::Spmd ||
          (loop->kind() == OpKind::Loop && terms_.PolyOfValue(loop->operand(2)) == Poly(1));
      size_t count = !takes_each ? 0 : loop == walk ? loop->region()->params().size() : 1;
      for (size_t i = count; i-- > 0;) {
        const Value* number = loop->region()->param(i);
        if (number->type()->kind != ir::TypeKind::Block && HaveAgreedEnds(walk, number))
          numbers.push_back(number);
      }
      if (loop == walk) break;
    }
    std::ranges::reverse(numbers);
    return numbers;
  }

  /// Finds the loop variables in `others` that choose a table for the parts. Returns false if the bounds depend on any
  /// further ones.
  static bool FindTables(Ragged& part, const std::vector<const Value*>& others) {
    if (auto chain = TablesOfChain(part)) {
      part.tables = *std::move(chain);
      return std::ranges::all_of(part.tables,
                                 [&](const Value* value) { return Contains(others, value); });
    }
    Agreed begin{part.binder, others};
    Agreed end{part.binder, others};
    bool is_known = begin.IsAgreed(part.from()) && end.IsAgreed(part.to()) &&
                    (!part.shift || begin.IsAgreed(part.shift));
    for (const Value* value : others) {
      if (Contains(begin.chosen, value) || Contains(end.chosen, value))
        part.tables.push_back(value);
    }
    // If all parts begin at the same place, at most one is not empty.
    return is_known && begin.varies && (begin.reads || end.reads);
  }

  /// Adds the parts that the loop handles if their numbers are those of the loop `around` it, which handles a part. The numbers of
  /// all parts follow one another only if their bounds are neighbours in a table, and so must be those of the added parts.
  void AddPartsOfPart(Op* walk, const Op* around, const Op* loop) {
    bool takes_each = around->kind() == OpKind::Loop &&
                      terms_.PolyOfValue(around->operand(2)) == Poly(1) &&
                      !around->HasAttr(ir::AttrKey::Breaks);
    auto outer = std::ranges::find_if(found, [&](const Ragged& part) {
      return part.loop == around && part.over() == walk && !part.number_of_block && IsChained(part);
    });
    if (!takes_each || outer == found.end()) return;
    std::vector<const Value*> numbers = NumbersAround(walk, loop);
    std::erase(numbers, outer->binder);
    Ragged part{{walk, around->region()->param(0), loop}};
    if (!IsChained(part) || !FindTables(part, numbers)) return;
    part.number_of_block = outer->binder;
    for (const Value* table : outer->tables) {
      if (!Contains(part.tables, table)) part.tables.push_back(table);
    }
    Add(std::move(part));
  }

  void Add(Ragged part, const std::vector<const Value*>& others) {
    if (FindTables(part, others)) Add(std::move(part));
  }

  void Add(Ragged part) {
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
    std::vector<const Op*> loops;
    ir::Walk(walk->region(), [&](const Op* loop) {
      if (loop->kind() == OpKind::For || loop->kind() == OpKind::Loop) loops.push_back(loop);
    });
    for (const Op* loop : loops) finder.AddPartsOf(walk, loop);
    for (const Op* loop : loops) finder.AddPartsOfParts(walk, loop);
  });
  return finder.found;
}

bool IsChained(const Parts& parts) { return TablesOfChain(parts).has_value(); }

bool AreEqualParts(const Parts& a, const Parts& b) {
  auto same_numbers = [](const Value* one, const Value* other) {
    LoopEnds ends = *LoopEndsOf(one);
    LoopEnds of_other = *LoopEndsOf(other);
    return ends.lo == of_other.lo && ends.hi == of_other.hi;
  };
  bool are_alike = a.over() == a.walk && b.over() == b.walk && !a.shift == !b.shift &&
                   !a.number_of_block && !b.number_of_block && same_numbers(a.binder, b.binder) &&
                   std::ranges::equal(a.tables, b.tables, same_numbers);
  if (!are_alike) return false;
  std::map<const Value*, const Value*> equal = {{a.binder, b.binder}};
  for (size_t i = 0; i < a.tables.size(); ++i) equal.emplace(a.tables[i], b.tables[i]);
  return AreEqualIf(a.from(), b.from(), equal) && AreEqualIf(a.to(), b.to(), equal) &&
         (!a.shift || AreEqualIf(a.shift, b.shift, equal));
}

std::optional<size_t> PartsOfNumbers(const std::vector<Ragged>& ragged, const Ragged& part) {
  if (!part.number_of_block) return std::nullopt;
  auto found = std::ranges::find_if(ragged, [&](const Ragged& other) {
    return other.loop == part.numbers() && other.binder == part.number_of_block;
  });
  return static_cast<size_t>(found - ragged.begin());
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
