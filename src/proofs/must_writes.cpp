#include "proofs/must_writes.h"

#include <algorithm>

#include "ir/lookup.h"
#include "ir/tensor_view.h"
#include "ir/views.h"

// Computes which elements are surely written, from the innermost ops outwards. A store writes a set of pairs,
// each consisting of a point and an element. At the end of each enclosing op, the variables of that op are
// eliminated. For a loop's iteration number, an element counts if some iteration writes it. For an unknown
// value, an element counts only if it is written for every value. So `y[i] = a where c; y[i] = b where !c`
// writes y[i], because c is a variable of both stores. If the compiler chooses the extent of blocks later,
// their starts are unknown, but each index of the loop is in one block. In this case, an element counts if
// there is an index such that every block that contains the index would write the element.

namespace kdl::proofs {

const PointSet& MustWrites::WrittenBy(Op* op, const Value* memory) {
  auto known = known_.find({op, memory});
  if (known != known_.end()) return known->second;
  PointSet written = Summarize(op, memory);
  if (!written.known()) written = instances_.None();  // the set is too large to compute
  return known_[{op, memory}] = written;
}

PointSet MustWrites::WrittenByRegion(const ir::Region* region, const Value* memory) {
  PointSet written = instances_.None();
  int pieces = 0;
  for (Op* op : *region) {
    const PointSet& of = WrittenBy(op, memory);
    if (of.IsSurelyEmpty()) continue;
    written |= of;
    ++pieces;
  }
  instances_.context().Allow(kStepsOfQuestion);
  return pieces < 2 ? written : written.Joined();
}

PointSet MustWrites::Summarize(Op* op, const Value* memory) {
  instances_.context().Allow(kStepsOfQuestion);
  if (auto view = FindAccess(op)) {
    bool writes = ir::MemoryOf(view->tensor) == memory && (view->is_write() || view->is_partial());
    writes = writes && (counted_ == CountedWrites::All || op->kind() != OpKind::Update);
    return writes ? WrittenByStore(*view) : instances_.None();
  }
  switch (op->kind()) {
    case OpKind::If:
      return WrittenByBranches(op, memory);
    case OpKind::Stage:
      return WrittenByRegion(op->region(), memory);
    case OpKind::Spmd:
    case OpKind::For:
    case OpKind::Loop:
      return op->HasAttr(ir::AttrKey::Breaks) ? instances_.None() : WrittenByIterations(op, memory);
    default:
      return instances_.None();
  }
}

PointSet MustWrites::WrittenByStore(const AccessView& view) {
  Elements::Touched touched = elements_.NamedBy(view);
  if (!touched.is_exact) return instances_.None();
  // The value of an `atomic` may have ranges that the index does not have. If one of them is empty, nothing
  // is stored.
  auto update = ir::DynAs<ir::UpdateOp>(view.op);
  return update ? touched.elements & instances_.Points(view.op, update->value()->type()->axes)
                : touched.elements;
}

PointSet MustWrites::WrittenByBranches(Op* op, const Value* memory) {
  PointSet written = instances_.None();
  for (bool holds : {true, false}) {
    PointSet branch = WrittenByRegion(op->region(holds ? 0 : 1), memory);
    if (!branch.IsSurelyEmpty()) written |= branch & instances_.Where(op->operand(0), holds);
  }
  instances_.context().Allow(kStepsOfQuestion);
  PointSet joined = written.Joined();
  // Drop conditions that do not affect the result.
  for (const std::string& variable : joined.Variables()) {
    if (!instances_.IsDeclared(variable) || !instances_.IsCondition(variable)) continue;
    PointSet anyway = joined.WithSome({variable});
    if ((anyway & instances_.FactsAbout(variable)).IsSurelySubsetOf(joined)) joined = anyway;
  }
  return joined;
}

/// Returns what all iterations of a loop write.
PointSet MustWrites::WrittenByIterations(Op* loop, const Value* memory) {
  PointSet written = WrittenByRegion(loop->region(), memory);
  bool counts = loop->kind() != OpKind::Loop ||
                instances_.terms().PolyOfValue(loop->operand(2)).AsConstant().has_value();
  if (written.IsSurelyEmpty() || !counts) return instances_.None();
  instances_.context().Allow(kStepsOfQuestion);
  std::vector<std::string> unknown = OpaqueOf(written, loop);
  if (loop->kind() == OpKind::Spmd) {  // some core executes each block
    for (const std::string& variable : CoreVariables(written)) {
      if (!Contains(unknown, variable)) unknown.push_back(variable);
    }
  }
  written = WithoutPoints(ForEvery(written, unknown), loop);
  PointSet all = instances_.None();
  for (const Binders& binders : OrdersOfLeaving(loop)) {
    PointSet left = written;
    for (size_t i = 0; i < binders.size(); ++i)
      left = Leave(binders[i], left, std::span(binders).first(i));
    all |= left;
  }
  instances_.context().Allow(kStepsOfQuestion);
  return all.Joined();
}

/// Returns the orders in which the loop's variables may be eliminated; usually one, which begins with the innermost one. Variables
/// that choose tables of parts come after the numbers of these parts: in each of its tables, the parts cover a dimension. If
/// variables choose tables for each other, only some tables count in each order.
std::vector<MustWrites::Binders> MustWrites::OrdersOfLeaving(const Op* loop) const {
  bool has_order = true;
  auto order = [&](bool innermost_first) {
    Binders left;
    for (const Value* param : loop->region()->params()) {
      if (LoopEndsOf(param)) left.push_back(param);
    }
    if (innermost_first) std::ranges::reverse(left);
    auto chooses = [&](const Value* value) {
      return std::ranges::any_of(instances_.ragged(), [&](const Ragged& ragged) {
        return Contains(left, ragged.binder) && Contains(ragged.tables, value);
      });
    };
    Binders order;
    while (!left.empty()) {
      auto next = std::ranges::find_if_not(left, chooses);
      has_order &= next != left.end();
      if (next == left.end()) next = left.begin();
      order.push_back(*next);
      left.erase(next);
    }
    return order;
  };
  Binders first = order(true);
  if (has_order) return {first};
  return {first, order(false)};
}

/// Returns the variables that depend on the loop's iterations or points but are not iteration numbers.
std::vector<std::string> MustWrites::OpaqueOf(const PointSet& written, const Op* loop) const {
  return written.Variables([&](const std::string& variable) {
    if (!instances_.IsDeclared(variable)) return false;
    bool inside = instances_.LoopIsIn(instances_.ScopeOf(variable).loop, loop);
    // Whether the loop's own iteration number determines the variable.
    bool is_counted =
        instances_.IsCounted(variable) || instances_.IsRaggedBound(variable, loop) ||
        std::ranges::any_of(instances_.ProductsOf(variable), [&](const Product& p) {
          return p.atom && instances_.IsBinderOf(instances_.VariableName(*p.atom), loop);
        });
    return inside && !is_counted;
  });
}

/// Returns the variables that may differ between cores running the same code.
std::vector<std::string> MustWrites::CoreVariables(const PointSet& written) const {
  return written.Variables([&](const std::string& variable) {
    return instances_.IsDeclared(variable) && instances_.ScopeOf(variable).cores;
  });
}

/// Eliminates the points inside of a loop: an element counts if it is written at some point. Points of blocks
/// with unknown starts remain until the variables of these blocks are eliminated.
PointSet MustWrites::WithoutPoints(const PointSet& written, const Op* loop) const {
  return written.WithSome(written.Variables([&](const std::string& variable) {
    const Value* block = instances_.BlockOfPoint(variable);
    if (!block || !instances_.LoopIsIn(instances_.ScopeOf(variable).loop, loop)) return false;
    bool stays = loop && !block->def() && block->parent_region()->parent() == loop &&
                 !instances_.ConstantExtent(block);
    return !stays;
  }));
}

/// Returns the elements that are written for all values of the variables.
PointSet MustWrites::ForEvery(PointSet written, const std::vector<std::string>& variables) {
  auto present = written.Variables([&](const std::string& v) { return Contains(variables, v); });
  if (present.empty()) return written;
  PointSet some = written.WithSome(present);
  PointSet values = instances_.All();
  for (const std::string& variable : present) values &= instances_.FactsAbout(variable);
  PointSet missed = ((some & values) - written).WithSome(present);
  return some - missed;
}

PointSet MustWrites::Leave(const Value* binder, PointSet written,
                           std::span<const Value* const> gone) {
  if (binder->type()->kind != ir::TypeKind::Block) return LeaveNumbers(binder, written, gone);
  if (!instances_.ConstantExtent(binder)) return LeaveBlocks(binder, written);
  AtomId number = instances_.terms().NumberAtom(binder);
  written = ForEvery(written, VariablesWithFactor(written, number)) & instances_.Iterations(binder);
  return written.WithSome({instances_.VariableName(number)});
}

/// Returns those points of `exists` at which the element is written for every placement of the block that
/// `grid` allows. `variables` contains the variables that describe the placement.
PointSet MustWrites::AnyOfGrid(const PointSet& written, const PointSet& grid,
                               const std::vector<std::string>& variables, const PointSet& exists) {
  PointSet missed = ((grid & exists) - written).WithSome(variables);
  return exists - missed;
}

/// Eliminates a block with an unknown extent: each index from lo to hi - 1 is in some block, and each number
/// less than the number of blocks is the number of a block.
PointSet MustWrites::LeaveBlocks(const Value* block, PointSet written) {
  Terms& terms = instances_.terms();
  LoopEnds bounds = *LoopEndsOf(block);
  Affine lo = instances_.AffineOfValue(bounds.lo);
  Affine hi = instances_.AffineOfValue(bounds.hi);
  Affine start = instances_.AffineOf(Poly::Atom(terms.StartAtom(block)));
  Affine count = instances_.AffineOf(Poly::Atom(terms.CountAtom(block)));
  std::string of_start = instances_.VariableName(terms.StartAtom(block));
  std::string of_count = instances_.VariableName(terms.CountAtom(block));
  std::string of_number = instances_.VariableName(terms.NumberAtom(block));
  std::string of_point = instances_.VariableName(terms.ElementAtom(block));
  std::vector<std::string> variables = {of_start, of_count, of_number};
  PointSet grid = instances_.Iterations(block);
  PointSet left = instances_.None();
  auto by_index = [&](const Affine& at) {
    PointSet around = grid & AtMost(start, at) & Less(at, start + count);
    left |=
        AnyOfGrid(written, around, variables, AtMost(lo, at) & Less(at, hi)).WithSome({of_point});
  };
  bool mentioned = std::ranges::any_of(variables, [&](auto& v) { return written.Mentions(v); });
  if (!mentioned && !written.Mentions(of_point)) return written & Less(lo, hi);
  if (written.Mentions(of_point)) {
    // Usually all blocks write their elements in the same way, so the placement of blocks does not matter.
    Affine at = instances_.Variable(of_point);
    PointSet alike = written.SimplifiedWithin(grid & AtMost(start, at) & Less(at, start + count));
    bool is_alike = alike.known() &&
                    std::ranges::none_of(variables, [&](auto& v) { return alike.Mentions(v); });
    if (is_alike) return (alike & AtMost(lo, at) & Less(at, hi)).WithSome({of_point});
    by_index(at);
  }
  PointSet of_blocks = written.WithSome({of_point});
  std::swap(written, of_blocks);
  for (const Affine& at : written.UpperBounds(of_start, {of_count, of_number})) by_index(at);
  if (written.Mentions(of_number)) {
    Poly extent = terms.PolyOfSize(instances_.kernel().axis(block->type()->axes[0]).extent);
    Poly walked = terms.PolyOfValue(bounds.hi) - terms.PolyOfValue(bounds.lo);
    Affine blocks = instances_.AffineOf(terms.PolyOfQuotient(walked + extent - 1, extent));
    Affine number = instances_.Variable(of_number);
    left |= AnyOfGrid(written, grid, {of_start, of_count},
                      AtMost(instances_.Constant(0), number) & Less(number, blocks))
                .WithSome({of_number});
  }
  return left;
}

/// Returns what is written by parts that together cover 0 to `end`. Each part begins at the first variable in
/// `variables` and ends before `after`.
PointSet MustWrites::WrittenInParts(const PointSet& written, const PointSet& grid,
                                    const std::vector<std::string>& variables, const Affine& after,
                                    const Affine& end) {
  PointSet left = instances_.None();
  Affine begin = instances_.Variable(variables[0]);
  for (const Affine& at :
       written.UpperBounds(variables[0], {variables.begin() + 1, variables.end()})) {
    PointSet around = grid & AtMost(begin, at) & Less(at, after);
    left |=
        AnyOfGrid(written, around, variables, AtMost(instances_.Constant(0), at) & Less(at, end));
  }
  return left;
}

/// Returns the variables that are products with an iteration number as factor. Unlike the iteration number
/// itself, products do not take every value in a range.
std::vector<std::string> MustWrites::VariablesWithFactor(const PointSet& written,
                                                         AtomId number) const {
  return written.Variables([&](const std::string& variable) {
    return std::ranges::any_of(instances_.ProductsOf(variable),
                               [&](const Product& product) { return product.atom == number; });
  });
}

/// Eliminates the variable of a product b * B, where B is a size and b iterates over all blocks.
PointSet MustWrites::LeaveBlockNumbers(const Product& product, const Value* binder,
                                       const PointSet& written) {
  std::string number = instances_.VariableName(instances_.terms().ScalarAtom(binder));
  std::optional<Poly> end = instances_.EndOfBlocks(product);
  const Op* loop = binder->parent_region()->parent();
  bool takes_each =
      loop->kind() != OpKind::Loop || instances_.terms().PolyOfValue(loop->operand(2)) == Poly(1);
  if (!end || !takes_each) return instances_.None();
  Affine after =
      instances_.Variable(product.product) + instances_.AffineOf(Poly::Atom(product.factor));
  PointSet grid = instances_.FactsAboutProduct(product) & instances_.Iterations(binder);
  return WrittenInParts(written, grid, {product.product, number}, after, instances_.AffineOf(*end));
}

/// Eliminates the number of a block whose parts come from tables and cover a whole dimension. Each index is
/// in the part of some block.
PointSet MustWrites::LeaveRagged(const Ragged& ragged, const std::string& number,
                                 const PointSet& written) {
  std::optional<AtomId> atom = ragged.lower.Greatest();
  if (!ragged.whole || !atom || ragged.lower != Poly::Atom(*atom)) return instances_.None();
  std::string lower = instances_.VariableName(*atom);
  Affine after = instances_.AffineOf(ragged.upper);
  if (instances_.VariablesOf(ragged.lower) != Instances::Names{lower} || !after.known())
    return instances_.None();
  Instances::Names others = instances_.VariablesOf(ragged.upper);
  others.erase(lower);
  others.insert(number);
  std::vector<std::string> variables = {lower};
  variables.insert(variables.end(), others.begin(), others.end());
  Affine end = instances_.AffineOf(instances_.terms().PolyOfSize(*ragged.whole));
  return WrittenInParts(written, instances_.Iterations(ragged.binder), variables, after, end);
}

/// Eliminates a scalar loop variable. If the variable is the number of a block of size B, as in `b * B`, each
/// index is in one of these blocks. Parts count only if the variables that choose their tables are not `gone` yet.
PointSet MustWrites::LeaveNumbers(const Value* binder, PointSet written,
                                  std::span<const Value* const> gone) {
  Terms& terms = instances_.terms();
  AtomId atom = terms.ScalarAtom(binder);
  std::string number = instances_.VariableName(atom);
  const PointSet& iterations = instances_.Iterations(binder);
  std::vector<std::string> products = VariablesWithFactor(written, atom);
  PointSet left = instances_.None();
  for (const std::string& variable : products) {
    for (const Product& product : instances_.ProductsOf(variable)) {
      if (product.atom == atom) left |= LeaveBlockNumbers(product, binder, written & iterations);
    }
  }
  for (const Ragged& ragged : instances_.ragged()) {
    // What depends on the variable must hold whatever the table contains, unless the parts cover a dimension.
    if (ragged.binder != binder && !Contains(ragged.tables, binder)) continue;
    bool is_fixed = std::ranges::none_of(ragged.tables,
                                         [&](const Value* table) { return Contains(gone, table); });
    if (is_fixed && ragged.binder == binder)
      left |= LeaveRagged(ragged, number, written & iterations);
    Instances::Names bounds = instances_.VariablesOf(ragged.lower);
    bounds.merge(instances_.VariablesOf(ragged.upper));
    bounds.erase(number);
    products.insert(products.end(), bounds.begin(), bounds.end());
  }
  return left | (ForEvery(written, products) & iterations).WithSome({number});
}

/// Returns what earlier iterations of a loop have written when the current one starts.
PointSet MustWrites::WrittenByEarlierIterations(const Op* loop, const Value* memory) {
  bool counts =
      loop && (loop->kind() == OpKind::For ||
               (loop->kind() == OpKind::Loop &&
                instances_.terms().PolyOfValue(loop->operand(2)).AsConstant().has_value()));
  if (!counts) return instances_.None();
  PointSet written = WrittenByRegion(loop->region(), memory);
  const Value* binder = loop->region()->param(0);
  bool is_block = binder->type()->kind == ir::TypeKind::Block;
  if (written.IsSurelyEmpty() || (is_block && !instances_.ConstantExtent(binder)))
    return instances_.None();
  instances_.context().Allow(kStepsOfQuestion);
  Terms& terms = instances_.terms();
  AtomId iteration = is_block ? terms.NumberAtom(binder) : terms.ScalarAtom(binder);
  std::string number = instances_.VariableName(iteration);
  std::vector<std::string> unknown = OpaqueOf(written, loop);
  std::vector<std::string> products = VariablesWithFactor(written, iteration);
  unknown.insert(unknown.end(), products.begin(), products.end());
  written = WithoutPoints(ForEvery(written, unknown), loop) & instances_.Iterations(binder);
  Affine earlier = instances_.Variable("#earlier");
  PointSet iterations =
      written.Renamed({{number, "#earlier"}}) & Less(earlier, instances_.Variable(number));
  PointSet joined = iterations.WithSome({"#earlier"}).Joined();
  return joined.known() ? joined : instances_.None();  // the set is too large to compute
}

/// Returns the elements that are written at one or more points of a tile.
PointSet MustWrites::AtAnyPoint(const PointSet& written) {
  auto unknown = written.Variables([&](const std::string& variable) {
    return instances_.IsDeclared(variable) && instances_.ScopeOf(variable).points &&
           !instances_.BlockOfPoint(variable);
  });
  return WithoutPoints(ForEvery(written, unknown), nullptr);
}

/// Returns what all cores together write by code outside of `spmd for`, which each core executes.
PointSet MustWrites::WrittenByAllCores(PointSet written) {
  written = AtAnyPoint(written);
  std::string core = instances_.VariableName(instances_.terms().CoreIdAtom());
  std::vector<std::string> unknown = CoreVariables(written);
  std::erase(unknown, core);
  written = ForEvery(written, unknown);
  if (!written.Mentions(core)) return written;
  return (written & instances_.FactsAbout(core)).WithSome({core});
}

PointSet MustWrites::WrittenByLaunch(const Value* memory) {
  return WrittenByAllCores(WrittenByRegion(instances_.kernel().body, memory));
}

PointSet MustWrites::Before(const Op* op, const Value* memory) {
  return Before(op, memory, Across::Blocks);
}

PointSet MustWrites::BeforeInOrder(const Op* op, const Value* memory) {
  return Before(op, memory, Across::BarriersAlone);
}

PointSet MustWrites::Before(const Op* op, const Value* memory, Across across) {
  PointSet before = instances_.None();
  bool synced = false;  // whether a barrier separates the code being examined from the op
  auto counts = [&](const Op* other) {
    return synced || across == Across::Blocks || !barriers_.HasWalk(other);
  };
  for (const ir::Region* region = op->parent_region(); region;
       op = region->parent(), region = op ? op->parent_region() : nullptr) {
    for (Op* sibling = op->prev(); sibling; sibling = sibling->prev()) {
      synced = synced || barriers_.IsBarrier(sibling);
      if (!counts(sibling)) continue;
      const PointSet& of = WrittenBy(sibling, memory);
      if (of.IsSurelyEmpty()) continue;
      before |= synced ? WrittenByAllCores(of) : of | AtAnyPoint(of);
    }
    const Op* around = region->parent();
    bool is_new = around && IsInside(memory, around);  // each iteration declares a new tensor
    if (!around || is_new || !counts(around)) continue;
    PointSet earlier = WrittenByEarlierIterations(around, memory);
    if (!earlier.IsSurelyEmpty()) before |= synced ? WrittenByAllCores(earlier) : earlier;
  }
  return before;
}

}  // namespace kdl::proofs
