#include "proofs/must_writes.h"

#include <algorithm>

#include "ir/lookup.h"
#include "ir/tensor_view.h"
#include "ir/views.h"

// From the inside out. What a store writes is a set of its points and elements; where code around it ends, the variables
// of that code go. A number that a loop counts goes by `there is a turn`; what is not known by `for every value`: an
// element counts that all values of it agree on. So `y[i] = a where c; y[i] = b where !c` writes y[i], since c is a variable
// of both. Of blocks whose extent the compiler chooses later the starts are not known, but that each index of the loop is in
// one block: an element counts that every block around some index would write.

namespace kdl::proofs {

const PointSet& MustWrites::Of(Op* op, const Value* memory) {
  auto known = known_.find({op, memory});
  if (known != known_.end()) return known->second;
  PointSet written = Summarize(op, memory);
  if (!written.known()) written = instances_.None();  // too large to say
  return known_[{op, memory}] = written;
}

PointSet MustWrites::OfBlock(const ir::Region* region, const Value* memory) {
  PointSet written = instances_.None();
  int pieces = 0;
  for (Op* op : *region) {
    const PointSet& of = Of(op, memory);
    if (of.IsSurelyEmpty()) continue;
    written |= of;
    ++pieces;
  }
  instances_.context().Allow(kStepsOfQuestion);
  return pieces < 2 ? written : written.Joined();
}

PointSet MustWrites::Summarize(Op* op, const Value* memory) {
  instances_.context().Allow(kStepsOfQuestion);
  if (auto view = AccessOf(op)) {
    bool writes = ir::MemoryOf(view->tensor) == memory && (view->is_write() || view->is_partial());
    writes = writes && (counted_ == CountedWrites::All || op->kind() != OpKind::Update);
    return writes ? OfStore(*view) : instances_.None();
  }
  switch (op->kind()) {
    case OpKind::If:
      return OfBranches(op, memory);
    case OpKind::Stage:
      return OfBlock(op->region(), memory);
    case OpKind::Spmd:
    case OpKind::For:
    case OpKind::Loop:
      return op->HasAttr(ir::AttrKey::Breaks) ? instances_.None() : OfIterations(op, memory);
    default:
      return instances_.None();
  }
}

PointSet MustWrites::OfStore(const AccessView& view) {
  Elements::Touched touched = elements_.NamedBy(view);
  if (!touched.is_exact) return instances_.None();
  // what is stored by `atomic` may have ranges that the index lacks: where one is empty there is nothing to store
  auto update = ir::DynAs<ir::UpdateOp>(view.op);
  return update ? touched.elements & instances_.Points(view.op, update->value()->type()->axes)
                : touched.elements;
}

PointSet MustWrites::OfBranches(Op* op, const Value* memory) {
  PointSet written = instances_.None();
  for (bool holds : {true, false}) {
    PointSet branch = OfBlock(op->region(holds ? 0 : 1), memory);
    if (!branch.IsSurelyEmpty()) written |= branch & instances_.Where(op->operand(0), holds);
  }
  instances_.context().Allow(kStepsOfQuestion);
  PointSet joined = written.Joined();
  // a condition that changes nothing is not carried further
  for (const std::string& variable : joined.Variables()) {
    if (!instances_.IsDeclared(variable) || !instances_.IsCondition(variable)) continue;
    PointSet anyway = joined.WithSome({variable});
    if ((anyway & instances_.FactsOf(variable)).IsSurelySubsetOf(joined)) joined = anyway;
  }
  return joined;
}

/// From one turn of a loop to all of them.
PointSet MustWrites::OfIterations(Op* loop, const Value* memory) {
  PointSet written = OfBlock(loop->region(), memory);
  bool counts = loop->kind() != OpKind::Loop ||
                instances_.terms().OfValue(loop->operand(2)).AsConstant().has_value();
  if (written.IsSurelyEmpty() || !counts) return instances_.None();
  instances_.context().Allow(kStepsOfQuestion);
  std::vector<std::string> unknown = OpaqueOf(written, loop);
  if (loop->kind() == OpKind::Spmd) {  // a block is run by some core
    for (const std::string& variable : OfCores(written)) {
      if (!Contains(unknown, variable)) unknown.push_back(variable);
    }
  }
  written = WithoutPoints(ForEvery(written, unknown), loop);
  for (size_t i = loop->region()->params().size(); i-- > 0;) {
    const Value* binder = loop->region()->param(i);
    if (LoopEndsOf(binder)) written = Leave(binder, written);
  }
  instances_.context().Allow(kStepsOfQuestion);
  return written.Joined();
}

/// Variables that change with the loop's turns, or with its points, and that no binder counts.
std::vector<std::string> MustWrites::OpaqueOf(const PointSet& written, const Op* loop) const {
  return written.Variables([&](const std::string& variable) {
    if (!instances_.IsDeclared(variable)) return false;
    bool inside = instances_.LoopIsIn(instances_.ScopeOf(variable).loop, loop);
    // what goes with the loop's own number
    bool is_counted = instances_.IsCounted(variable) || instances_.IsRaggedBound(variable, loop) ||
                      std::ranges::any_of(instances_.ProductsOf(variable), [&](const Product& p) {
                        return p.atom && instances_.IsBinderOf(instances_.NameOf(*p.atom), loop);
                      });
    return inside && !is_counted;
  });
}

/// Those that cores which run the same code may differ in.
std::vector<std::string> MustWrites::OfCores(const PointSet& written) const {
  return written.Variables([&](const std::string& variable) {
    return instances_.IsDeclared(variable) && instances_.ScopeOf(variable).cores;
  });
}

/// Points inside of a loop go by `there is one`; those of blocks whose starts are not known stay until these go.
PointSet MustWrites::WithoutPoints(const PointSet& written, const Op* loop) const {
  return written.WithSome(written.Variables([&](const std::string& variable) {
    const Value* block = instances_.BlockOfPoint(variable);
    if (!block || !instances_.LoopIsIn(instances_.ScopeOf(variable).loop, loop)) return false;
    bool stays = loop && !block->def() && block->parent_region()->parent() == loop &&
                 !instances_.ExtentOf(block);
    return !stays;
  }));
}

/// What is written whatever these are.
PointSet MustWrites::ForEvery(PointSet written, const std::vector<std::string>& variables) {
  auto present = written.Variables([&](const std::string& v) { return Contains(variables, v); });
  if (present.empty()) return written;
  PointSet some = written.WithSome(present);
  PointSet values = instances_.All();
  for (const std::string& variable : present) values &= instances_.FactsOf(variable);
  PointSet missed = ((some & values) - written).WithSome(present);
  return some - missed;
}

PointSet MustWrites::Leave(const Value* binder, PointSet written) {
  if (binder->type()->kind != ir::TypeKind::Block) return LeaveNumbers(binder, written);
  if (!instances_.ExtentOf(binder)) return LeaveBlocks(binder, written);
  AtomId number = instances_.terms().NumberOf(binder);
  written = ForEvery(written, ProductsOf(written, number)) & instances_.Iterations(binder);
  return written.WithSome({instances_.NameOf(number)});
}

/// What each way to lay the grid writes, for some index that `exists` says is in a block.
PointSet MustWrites::AnyOfGrid(const PointSet& written, const PointSet& grid,
                               const std::vector<std::string>& variables, const PointSet& exists) {
  PointSet missed = ((grid & exists) - written).WithSome(variables);
  return exists - missed;
}

/// Each index from lo to hi - 1 is in one block, each number below their count is that of one.
PointSet MustWrites::LeaveBlocks(const Value* block, PointSet written) {
  Terms& terms = instances_.terms();
  LoopEnds bounds = *LoopEndsOf(block);
  Affine lo = instances_.OfValue(bounds.lo);
  Affine hi = instances_.OfValue(bounds.hi);
  Affine start = instances_.Of(Poly::Atom(terms.StartOf(block)));
  Affine count = instances_.Of(Poly::Atom(terms.CountOf(block)));
  std::string of_start = instances_.NameOf(terms.StartOf(block));
  std::string of_count = instances_.NameOf(terms.CountOf(block));
  std::string of_number = instances_.NameOf(terms.NumberOf(block));
  std::string of_point = instances_.NameOf(terms.ElementOf(block));
  std::vector<std::string> variables = {of_start, of_count, of_number};
  const PointSet& grid = instances_.Iterations(block);
  PointSet left = instances_.None();
  auto by_index = [&](const Affine& at) {
    PointSet around = grid & AtMost(start, at) & Less(at, start + count);
    left |=
        AnyOfGrid(written, around, variables, AtMost(lo, at) & Less(at, hi)).WithSome({of_point});
  };
  bool mentioned = std::ranges::any_of(variables, [&](auto& v) { return written.Mentions(v); });
  if (!mentioned && !written.Mentions(of_point)) return written & Less(lo, hi);
  if (written.Mentions(of_point)) {
    // Mostly a block writes each of its elements alike, whichever block it is: then no way to lay the grid matters.
    Affine at = instances_.Variable(of_point);
    PointSet alike = written.Within(grid & AtMost(start, at) & Less(at, start + count));
    bool is_alike = alike.known() &&
                    std::ranges::none_of(variables, [&](auto& v) { return alike.Mentions(v); });
    if (is_alike) return (alike & AtMost(lo, at) & Less(at, hi)).WithSome({of_point});
    by_index(at);
  }
  PointSet of_blocks = written.WithSome({of_point});
  std::swap(written, of_blocks);
  for (const Affine& at : written.UpperBounds(of_start, {of_count, of_number})) by_index(at);
  if (written.Mentions(of_number)) {
    Poly extent = terms.OfSize(instances_.kernel().axis(block->type()->axes[0]).extent);
    Poly walked = terms.OfValue(bounds.hi) - terms.OfValue(bounds.lo);
    Affine blocks = instances_.Of(terms.OfQuotient(walked + extent - 1, extent));
    Affine number = instances_.Variable(of_number);
    left |= AnyOfGrid(written, grid, {of_start, of_count},
                      AtMost(instances_.Constant(0), number) & Less(number, blocks))
                .WithSome({of_number});
  }
  return left;
}

/// Of parts that are together all from 0 to `end`: each begins at the first of the grid's variables, and ends in front of `behind`.
PointSet MustWrites::OfParts(const PointSet& written, const PointSet& grid,
                             const std::vector<std::string>& variables, const Affine& behind,
                             const Affine& end) {
  PointSet left = instances_.None();
  Affine begin = instances_.Variable(variables[0]);
  for (const Affine& at :
       written.UpperBounds(variables[0], {variables.begin() + 1, variables.end()})) {
    PointSet around = grid & AtMost(begin, at) & Less(at, behind);
    left |=
        AnyOfGrid(written, around, variables, AtMost(instances_.Constant(0), at) & Less(at, end));
  }
  return left;
}

/// The products of a number of a loop's turn: none of them is any number, as the turn is.
std::vector<std::string> MustWrites::ProductsOf(const PointSet& written, AtomId number) const {
  return written.Variables([&](const std::string& variable) {
    return std::ranges::any_of(instances_.ProductsOf(variable),
                               [&](const Product& product) { return product.atom == number; });
  });
}

/// Of b * B with a size B, where b counts all blocks.
PointSet MustWrites::LeaveBlockNumbers(const Product& product, const Value* binder,
                                       const PointSet& written) {
  std::string number = instances_.NameOf(instances_.terms().ScalarOf(binder));
  std::optional<Poly> end = instances_.EndOfBlocks(product);
  const Op* loop = binder->parent_region()->parent();
  bool takes_each =
      loop->kind() != OpKind::Loop || instances_.terms().OfValue(loop->operand(2)) == Poly(1);
  if (!end || !takes_each) return instances_.None();
  Affine behind = instances_.Variable(product.product) + instances_.Of(Poly::Atom(product.factor));
  PointSet grid = instances_.FactsOfProduct(product) & instances_.Iterations(binder);
  return OfParts(written, grid, {product.product, number}, behind, instances_.Of(*end));
}

/// Each index of a whole dimension is in the part of some block.
PointSet MustWrites::LeaveRagged(const Ragged& ragged, const std::string& number,
                                 const PointSet& written) {
  std::optional<AtomId> atom = ragged.lower.Greatest();
  if (!ragged.whole || !atom || ragged.lower != Poly::Atom(*atom)) return instances_.None();
  std::string lower = instances_.NameOf(*atom);
  Affine behind = instances_.Of(ragged.upper);
  if (instances_.VariablesOf(ragged.lower) != Instances::Names{lower} || !behind.known())
    return instances_.None();
  Instances::Names others = instances_.VariablesOf(ragged.upper);
  others.erase(lower);
  others.insert(number);
  std::vector<std::string> variables = {lower};
  variables.insert(variables.end(), others.begin(), others.end());
  Affine end = instances_.Of(instances_.terms().OfSize(*ragged.whole));
  return OfParts(written, instances_.Iterations(ragged.binder), variables, behind, end);
}

/// A scalar binder; where it counts blocks of a size, `b * B`, each index is in one of them.
PointSet MustWrites::LeaveNumbers(const Value* binder, PointSet written) {
  Terms& terms = instances_.terms();
  AtomId atom = terms.ScalarOf(binder);
  std::string number = instances_.NameOf(atom);
  const PointSet& iterations = instances_.Iterations(binder);
  std::vector<std::string> products = ProductsOf(written, atom);
  PointSet left = instances_.None();
  for (const std::string& variable : products) {
    for (const Product& product : instances_.ProductsOf(variable)) {
      if (product.atom == atom) left |= LeaveBlockNumbers(product, binder, written & iterations);
    }
  }
  for (const Ragged& ragged : instances_.ragged()) {
    if (ragged.binder != binder) continue;
    left |= LeaveRagged(ragged, number, written & iterations);
    Instances::Names bounds = instances_.VariablesOf(ragged.lower);
    bounds.merge(instances_.VariablesOf(ragged.upper));
    bounds.erase(number);
    products.insert(products.end(), bounds.begin(), bounds.end());
  }
  return left | (ForEvery(written, products) & iterations).WithSome({number});
}

/// What turns of a loop have written before its present one begins.
PointSet MustWrites::OfEarlierIterations(const Op* loop, const Value* memory) {
  bool counts = loop && (loop->kind() == OpKind::For ||
                         (loop->kind() == OpKind::Loop &&
                          instances_.terms().OfValue(loop->operand(2)).AsConstant().has_value()));
  if (!counts) return instances_.None();
  PointSet written = OfBlock(loop->region(), memory);
  const Value* binder = loop->region()->param(0);
  bool is_block = binder->type()->kind == ir::TypeKind::Block;
  if (written.IsSurelyEmpty() || (is_block && !instances_.ExtentOf(binder)))
    return instances_.None();
  instances_.context().Allow(kStepsOfQuestion);
  Terms& terms = instances_.terms();
  AtomId iteration = is_block ? terms.NumberOf(binder) : terms.ScalarOf(binder);
  std::string number = instances_.NameOf(iteration);
  std::vector<std::string> unknown = OpaqueOf(written, loop);
  std::vector<std::string> products = ProductsOf(written, iteration);
  unknown.insert(unknown.end(), products.begin(), products.end());
  written = WithoutPoints(ForEvery(written, unknown), loop) & instances_.Iterations(binder);
  Affine earlier = instances_.Variable("#earlier");
  PointSet iterations =
      written.Renamed({{number, "#earlier"}}) & Less(earlier, instances_.Variable(number));
  PointSet joined = iterations.WithSome({"#earlier"}).Joined();
  return joined.known() ? joined : instances_.None();  // too large to say
}

/// What is written at any point.
PointSet MustWrites::AtAnyPoint(const PointSet& written) {
  auto unknown = written.Variables([&](const std::string& variable) {
    return instances_.IsDeclared(variable) && instances_.ScopeOf(variable).points &&
           !instances_.BlockOfPoint(variable);
  });
  return WithoutPoints(ForEvery(written, unknown), nullptr);
}

/// What stands outside of `spmd for` is done by each core, from 0 to the last.
PointSet MustWrites::OfAllCores(PointSet written) {
  written = AtAnyPoint(written);
  std::string core = instances_.NameOf(instances_.terms().CoreIdAtom());
  std::vector<std::string> unknown = OfCores(written);
  std::erase(unknown, core);
  written = ForEvery(written, unknown);
  if (!written.Mentions(core)) return written;
  return (written & instances_.FactsOf(core)).WithSome({core});
}

PointSet MustWrites::OfLaunch(const Value* memory) {
  return OfAllCores(OfBlock(instances_.kernel().body, memory));
}

PointSet MustWrites::Before(const Op* op, const Value* memory) {
  return Before(op, memory, Across::Blocks);
}

PointSet MustWrites::BeforeInOrder(const Op* op, const Value* memory) {
  return Before(op, memory, Across::BarriersAlone);
}

PointSet MustWrites::Before(const Op* op, const Value* memory, Across across) {
  PointSet before = instances_.None();
  bool synced = false;  // between what is looked at and the op
  auto counts = [&](const Op* other) {
    return synced || across == Across::Blocks || !barriers_.HasWalk(other);
  };
  for (const ir::Region* region = op->parent_region(); region;
       op = region->parent(), region = op ? op->parent_region() : nullptr) {
    for (Op* sibling = op->prev(); sibling; sibling = sibling->prev()) {
      synced = synced || barriers_.IsBarrier(sibling);
      if (!counts(sibling)) continue;
      const PointSet& of = Of(sibling, memory);
      if (of.IsSurelyEmpty()) continue;
      before |= synced ? OfAllCores(of) : of | AtAnyPoint(of);
    }
    const Op* around = region->parent();
    bool is_new = around && IsInside(memory, around);  // each turn declares another tensor
    if (!around || is_new || !counts(around)) continue;
    PointSet earlier = OfEarlierIterations(around, memory);
    if (!earlier.IsSurelyEmpty()) before |= synced ? OfAllCores(earlier) : earlier;
  }
  return before;
}

}  // namespace kdl::proofs
