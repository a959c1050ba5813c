#include "proofs/instances.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/lookup.h"
#include "ir/views.h"
#include "proofs/launch_limits.h"
#include "proofs/made_values.h"

// A block whose extent is a number has one variable, its number n; the block starts at lo + extent * n. A
// block whose extent the compiler chooses later has three variables: start, count and number. Only affine
// constraints on these variables are expressed.

namespace kdl::proofs {

namespace {

using ir::CompareKind;

/// The maximum number of pieces (basic sets of isl) in the set of a region's executions. Branch conditions
/// that would exceed it are ignored.
constexpr size_t kMostPieces = 16;
/// The maximum number of pieces in the set of an `and` or `or`. Larger conditions are not examined.
constexpr size_t kMostOfCondition = 64;
constexpr size_t kMostElements = 16;  ///< tables with more elements are not examined
/// The maximum number of products with the same factor that are compared with one another.
constexpr size_t kMostOrdered = 3;

/// If an `if` around the op tests a condition, returns the value that the condition has at the op. Otherwise
/// returns nothing.
std::optional<bool> TakenAround(const Op* op, const Value* condition) {
  for (const ir::Region* region = op->parent_region(); region->parent();
       region = region->parent()->parent_region()) {
    const Op* branches = region->parent();
    if (branches->kind() == OpKind::If && branches->operand(0) == condition)
      return branches->region(0) == region;
  }
  return std::nullopt;
}

}  // namespace

Instances::Instances(const SetContext& context, const ir::Function& kernel, ir::TypeTable& types,
                     Sizes known)
    : context_(context),
      terms_(kernel, types, std::move(known)),
      scopes_(terms_),
      where_(context),
      iterations_(context),
      blocks_(context),
      facts_(context) {}

// -- Numbers -----------------------------------------------------------------------------------

void Instances::Declare(const std::string& name, Scope scope, bool is_opaque,
                        std::optional<AtomId> atom) {
  variables_.try_emplace(name, Kind{scope, is_opaque, atom});
}

std::string Instances::VariableName(AtomId atom) {
  const AtomFacts& facts = terms_.Facts(atom);
  return facts.kind == AtomKind::Size ? facts.symbol.str() : fmt::format("#{}", atom);
}

std::optional<int64_t> Instances::ConstantExtent(const Value* block) {
  std::optional<int64_t> extent =
      terms_.PolyOfSize(kernel().axis(block->type()->axes[0]).extent).AsConstant();
  return extent && *extent >= 1 ? extent : std::nullopt;
}

Affine Instances::AffineOf(const Poly& poly) {
  if (!poly.exact()) return {};
  Affine sum = Constant(0);
  for (const auto& [monomial, coefficient] : poly.terms()) {
    if (monomial.empty())
      sum = sum + Constant(coefficient);
    else if (monomial.size() == 1)
      sum = sum + coefficient * AffineOfAtom(*monomial.begin());
    else
      sum = sum + coefficient * AffineOfProduct(monomial);
  }
  return sum;
}

Affine Instances::AffineOfAtom(AtomId atom) {
  auto known = atoms_.find(atom);
  if (known != atoms_.end()) return known->second;
  const AtomFacts facts = terms_.Facts(atom);
  std::optional<int64_t> extent;
  bool of_block = facts.kind == AtomKind::Start || facts.kind == AtomKind::Count ||
                  facts.kind == AtomKind::Number;
  if (of_block) extent = ConstantExtent(facts.value);
  auto variable = [&](bool is_opaque) {
    Declare(VariableName(atom), scopes_.ScopeOf(atom), is_opaque, atom);
    return Variable(VariableName(atom));
  };
  Affine made;
  if (facts.kind == AtomKind::Quotient && facts.b.AsConstant().value_or(0) >= 1) {
    made = AffineOf(facts.a).FloorDivide(*facts.b.AsConstant());
  } else if (facts.kind == AtomKind::Min || facts.kind == AtomKind::Max) {
    made = facts.kind == AtomKind::Min ? Min(AffineOf(facts.a), AffineOf(facts.b))
                                       : Max(AffineOf(facts.a), AffineOf(facts.b));
  } else if (facts.kind == AtomKind::Choice) {
    made = AffineOfChoice(facts);
    if (!made.known()) made = variable(true);
  } else if (extent && facts.kind == AtomKind::Start) {
    made = AffineOfValue(LoopEndsOf(facts.value)->lo) +
           *extent * AffineOfAtom(terms_.NumberAtom(facts.value));
  } else if (extent && facts.kind == AtomKind::Count) {
    Affine left =
        AffineOfValue(LoopEndsOf(facts.value)->hi) - AffineOfAtom(terms_.StartAtom(facts.value));
    made = Min(Constant(*extent), left);
  } else {
    bool is_binder = facts.kind == AtomKind::Scalar && LoopEndsOf(facts.value);
    bool is_param = facts.kind == AtomKind::Scalar && facts.value->parent_region() == kernel().body;
    made = variable((facts.kind == AtomKind::Scalar && !is_binder && !is_param) ||
                    facts.kind == AtomKind::Wrapped || facts.kind == AtomKind::Quotient ||
                    (of_block && !extent));
  }
  return atoms_[atom] = made;
}

/// Converts a choice (the result of a select or an `if`) to an affine function. The result is unknown if it
/// would have too many pieces.
Affine Instances::AffineOfChoice(const AtomFacts& facts) {
  PointSet where = Where(facts.value, true);
  Affine a = AffineOf(facts.a);
  Affine b = AffineOf(facts.b);
  size_t pieces = where.pieces() * (a.pieces() + b.pieces());
  return pieces <= kMostPieces ? where.Indicator().Choose(a, b) : Affine();
}

/// Returns whether the atom is min(1, n) with n >= 0, which is 1 exactly if n is positive.
bool Instances::IsAny(AtomId atom) {
  const AtomFacts facts = terms_.Facts(atom);
  if (facts.kind != AtomKind::Min || (facts.a != Poly(1) && facts.b != Poly(1))) return false;
  const Poly& count = facts.a == Poly(1) ? facts.b : facts.a;
  return WithFacts(Less(AffineOf(count), Constant(0))).IsSurelyEmpty();
}

/// If the monomial is b * floor(a / b) and b is a size, returns the atom of the quotient.
std::optional<AtomId> Instances::QuotientIn(const Monomial& monomial) const {
  for (AtomId atom : monomial) {
    const AtomFacts& facts = terms_.Facts(atom);
    bool is_of_size = facts.kind == AtomKind::Quotient && terms_.IsNonNegative(facts.b);
    if (is_of_size && facts.b * Poly::Atom(atom) == Poly::Term(monomial, 1)) return atom;
  }
  return std::nullopt;
}

Affine Instances::AffineOfProduct(const Monomial& monomial) {
  for (AtomId atom : monomial) {
    if (!IsAny(atom)) continue;
    Poly rest = 1;
    bool dropped = false;
    for (AtomId other : monomial) {
      if (other == atom && !dropped)
        dropped = true;
      else
        rest *= Poly::Atom(other);
    }
    return AffineOfAtom(atom).Choose(AffineOf(rest), Constant(0));
  }
  std::string name = "p";
  Scope scope;
  for (AtomId atom : monomial) {
    name += fmt::format("{}{}", name.size() == 1 ? "" : "*", VariableName(atom));
    scope = Join(scope, scopes_.ScopeOf(atom));
    AffineOfAtom(atom);
  }
  Declare(name, scope, true, QuotientIn(monomial));
  bool is_new = products_.try_emplace(name).second;
  if (monomial.size() == 2 && is_new) {
    AtomId a = *monomial.begin();
    AtomId b = monomial.back();
    for (auto [factor, other] : {std::pair{a, b}, std::pair{b, a}}) {
      if (!scopes_.ScopeOf(factor).is_launch()) continue;
      Affine multiple = AffineOfAtom(other);  // also declares its variable, if it has one
      bool is_variable = variables_.contains(VariableName(other));
      Declare(Product{name, factor, multiple, is_variable ? std::optional(other) : std::nullopt});
    }
  }
  return Variable(name);
}

// -- Conditions --------------------------------------------------------------------------------

/// Returns the two values of which an atom is the minimum or the maximum.
std::optional<Instances::Extreme> Instances::ExtremeOf(AtomId atom) {
  const AtomFacts facts = terms_.Facts(atom);
  bool is_least = facts.kind == AtomKind::Min;
  if (is_least || facts.kind == AtomKind::Max) return Extreme{facts.a, facts.b, is_least};
  std::optional<int64_t> extent =
      facts.kind == AtomKind::Count ? ConstantExtent(facts.value) : std::nullopt;
  if (!extent) return std::nullopt;
  Poly start = Poly::Atom(terms_.StartAtom(facts.value));
  return Extreme{*extent, terms_.PolyOfValue(LoopEndsOf(facts.value)->hi) - start, true};
}

/// Returns the condition a < b. A number is less than a minimum if it is less than both operands. As an
/// intersection, this condition is one piece, whereas the minimum itself has two.
PointSet Instances::Below(const Poly& a, const Poly& b) {
  Poly apart = b - a;
  for (const auto& [monomial, coefficient] : apart.terms()) {
    std::optional<Extreme> extreme =
        monomial.size() == 1 ? ExtremeOf(monomial[0]) : std::optional<Extreme>();
    if (!extreme || extreme->is_least != (coefficient > 0)) continue;
    Poly rest = apart - Poly::Term(monomial, coefficient);
    PointSet below = Below(0, rest + coefficient * extreme->a);
    if (below.known()) below &= Below(0, rest + coefficient * extreme->b);
    if (below.known()) return below;
  }
  return Less(AffineOf(a), AffineOf(b));
}

PointSet Instances::Compare(CompareKind kind, const Poly& a, const Poly& b) {
  switch (kind) {
    case CompareKind::Eq:
      return Equal(AffineOf(a), AffineOf(b));
    case CompareKind::Ne:
      return Below(a, b) | Below(b, a);
    case CompareKind::Lt:
      return Below(a, b);
    case CompareKind::Le:
      return Below(a, b + 1);
    case CompareKind::Gt:
      return Below(b, a);
    case CompareKind::Ge:
      return Below(b, a + 1);
  }
  return {};
}

PointSet Instances::Where(const Value* condition, bool holds) {
  if (const PointSet* known = where_.Find({condition, holds})) return *known;
  return where_.Keep({condition, holds}, WhereComputed(condition, holds));
}

/// Returns the set in which an `and` or `or` has the value `holds`. The result is unknown if it would have
/// too many pieces.
PointSet Instances::WhereBoth(const Op* op, bool holds) {
  PointSet a = Where(op->operand(0), holds);
  PointSet b = Where(op->operand(1), holds);
  bool meet = holds == (op->kind() == OpKind::And);
  size_t pieces = meet ? a.pieces() * b.pieces() : a.pieces() + b.pieces();
  if (pieces > kMostOfCondition) return {};
  return meet ? a & b : a | b;
}

PointSet Instances::WhereComputed(const Value* condition, bool holds) {
  const Op* def = condition->def();
  if (def && def->kind() == OpKind::Not) return Where(def->operand(0), !holds);
  if (def && (def->kind() == OpKind::Broadcast || def->kind() == OpKind::Snapshot))
    return Where(def->operand(0), holds);
  if (def && (def->kind() == OpKind::And || def->kind() == OpKind::Or)) {
    PointSet both = WhereBoth(def, holds);
    if (both.known()) return both;
  }
  if (def && def->kind() == OpKind::If) {
    PointSet given = WhereResult(condition, holds);
    if (given.known() && given.pieces() <= kMostPieces) return given;
  }
  if (def && def->kind() == OpKind::Const)
    return (static_cast<int64_t>(def->attr<AttrKey::Bits>()) != 0) == holds ? All() : None();
  std::optional<CompareKind> kind = def ? ComparisonOf(def->kind()) : std::nullopt;
  Scalar scalar = kind ? def->operand(0)->type()->scalar : Scalar::F32;
  if (kind && IsInteger(scalar) && scalar != Scalar::U64) {
    PointSet compared = Compare(holds ? *kind : Negated(*kind), terms_.PolyOfValue(def->operand(0)),
                                terms_.PolyOfValue(def->operand(1)));
    if (compared.known()) return compared;
  }
  const Value* first = terms_.numbers().FirstEqual(condition);
  size_t number = conditions_.try_emplace(first, conditions_.size()).first->second;
  std::string name = fmt::format("?{}", number);
  Declare(name, scopes_.ScopeOf(first), true, std::nullopt);
  return Equal(Variable(name), Constant(holds ? 1 : 0));
}

/// Returns the set in which a result of an `if` op, such as the flag that `continue` clears, has the value
/// `holds`.
PointSet Instances::WhereResult(const Value* result, bool holds) {
  const Op* branches = result->def();
  PointSet set = None();
  for (bool taken : {true, false}) {
    const Value* given = branches->region(taken ? 0 : 1)->terminator()->operand(result->index());
    std::optional<bool> is = TakenAround(branches, given);
    PointSet where = !is ? Where(given, holds) : *is == holds ? All() : None();
    set |= Where(branches->operand(0), taken) & where;
  }
  return set;
}

// -- Facts -------------------------------------------------------------------------------------

void Instances::Require(const Op* op) {
  if (!launch_ || IsVast(op)) return;
  PointSet required =
      Compare(op->attr<AttrKey::Compare>(), terms_.PolyOfSize(op->attr<AttrKey::Left>()),
              terms_.PolyOfSize(op->attr<AttrKey::Right>()));
  if (required.known()) *launch_ &= required;
}

const PointSet& Instances::Launch() {
  if (launch_ && (launch_->known() || query_of_launch_ == context_.query())) return *launch_;
  query_of_launch_ = context_.query();
  launch_ = All();
  for (const Op* op : *kernel().body) {
    if (op->kind() == OpKind::Require) Require(op);
  }
  ir::Walk(kernel().body, [&](const Op* op) {
    if (op->kind() != OpKind::StaticAssert) return;
    PointSet stated = Where(op->operand(0), true);
    if (!IsOpaque(stated)) *launch_ &= stated;
  });
  for (const ir::Param& param : kernel().params) {
    if (param.value->type()->kind != ir::TypeKind::Tensor) continue;
    for (Size dim : param.value->type()->dims) {
      PointSet is_size = Compare(CompareKind::Ge, terms_.PolyOfSize(dim), 0);
      if (is_size.known()) *launch_ &= is_size;
    }
  }
  return *launch_;
}

PointSet Instances::Iterations(const Value* binder) {
  if (const PointSet* known = iterations_.Find(binder)) return *known;
  LoopEnds bounds = *LoopEndsOf(binder);
  Affine lo = AffineOfValue(bounds.lo);
  Affine hi = AffineOfValue(bounds.hi);
  const Op* loop = binder->parent_region()->parent();
  PointSet iterations;
  if (binder->type()->kind != ir::TypeKind::Block) {
    Affine at = AffineOfAtom(terms_.ScalarAtom(binder));
    iterations = AtMost(lo, at) & Less(at, hi);
    std::optional<int64_t> step = loop->kind() == OpKind::Loop
                                      ? terms_.PolyOfValue(loop->operand(2)).AsConstant()
                                      : std::optional<int64_t>(1);
    if (step && *step > 1) iterations &= Equal(at, lo + *step * (at - lo).FloorDivide(*step));
  } else {
    Affine start = AffineOfAtom(terms_.StartAtom(binder));
    Affine number = AffineOfAtom(terms_.NumberAtom(binder));
    iterations = AtMost(Constant(0), number) & Less(start, hi);
    if (!ConstantExtent(binder)) {
      Affine count = AffineOfAtom(terms_.CountAtom(binder));
      Affine extent = AffineOf(terms_.PolyOfSize(kernel().axis(binder->type()->axes[0]).extent));
      iterations &= AtMost(lo, start) & AtMost(number, start - lo) & AtMost(Constant(1), extent) &
                    AtMost(Constant(1), count) & AtMost(count, extent) & AtMost(start + count, hi);
    }
  }
  return iterations_.Keep(binder, iterations);
}

PointSet Instances::RunsOfRegion(const ir::Region* region) {
  if (!region->parent()) return All();
  if (const PointSet* known = blocks_.Find(region)) return *known;
  const Op* parent = region->parent();
  PointSet set = Around(parent);
  for (const Value* param : region->params()) {
    if (LoopEndsOf(param)) set &= Iterations(param);
  }
  if (parent->kind() == OpKind::If) {
    if (set.pieces() <= kMostPieces)
      set &= Where(parent->operand(0), parent->region(0) == region);
    else
      shortened_.insert(parent);
  }
  return blocks_.Keep(region, set);
}

PointSet Instances::Around(const Op* op) {
  PointSet set = RunsOfRegion(op->parent_region());
  // In a fn, an assert does not check the elements that a mask of the call excludes.
  bool in_kernel = kernel().kind == ir::FunctionKind::Kernel;
  if (op->parent_region()->parent() || !in_kernel) return set;
  for (const Op* before : *kernel().body) {
    if (before == op) break;
    bool states = before->kind() == OpKind::Assert && before->operands().size() == 1 &&
                  before->operand(0)->type()->axes.empty();
    if (states) set &= Where(before->operand(0), true);
  }
  return set;
}

PointSet Instances::Points(const Op* op, const ir::AxisList& axes) {
  PointSet set = All();
  for (ir::AxisId axis : axes) {
    const Value* block = ir::FindBlock(op, axis);
    Poly at = Poly::Atom(terms_.ElementAtom(block));
    Poly start = terms_.PolyOfFact(OpKind::BlockStart, block);
    set &= Below(start, at + 1) & Below(at, start + terms_.PolyOfFact(OpKind::BlockSize, block));
  }
  return set;
}

PointSet Instances::PointsOf(const AccessView& view, bool masked) {
  if (!masked || !view.mask) return Points(view.op, view.axes());
  ir::AxisList axes = ir::UnionAxes(view.axes(), view.mask->type()->axes);
  return Points(view.op, axes) & Where(view.mask, true);
}

PointSet Instances::AtomBounds(AtomId atom) {
  const AtomFacts facts = terms_.Facts(atom);
  PointSet set = All();
  auto add = [&](const AtomBound& bound, bool below) {
    if (!bound.scale.AsConstant()) return;
    Poly at = bound.scale * Poly::Atom(atom);
    PointSet half = below ? Below(bound.bound, at + 1) : Below(at, bound.bound + 1);
    if (half.known()) set &= half;
  };
  for (const AtomBound& bound : facts.lower) add(bound, true);
  for (const AtomBound& bound : facts.upper) add(bound, false);
  return facts.value ? set & TableFacts(facts.value, AffineOfAtom(atom)) : set;
}

/// Returns the facts about a value loaded from a short table: the possible pairs of index and value.
PointSet Instances::TableFacts(const Value* value, const Affine& at) {
  std::optional<std::vector<int64_t>> values = TableValues(value);
  if (!values || values->size() > kMostElements) return All();
  AccessView view = *FindAccess(const_cast<Op*>(value->def()));
  Affine index = view.rank() == 1 ? AffineOf(terms_.PolyOfIndex(view, 0)) : Affine();
  if (!index.known()) return All();
  PointSet any = None();
  for (size_t n = 0; n < values->size(); ++n) {
    any |= Equal(index, Constant(static_cast<int64_t>(n))) & Equal(at, Constant((*values)[n]));
  }
  // If the index is out of bounds, nothing is loaded.
  return any | Less(index, Constant(0)) |
         AtMost(Constant(static_cast<int64_t>(values->size())), index);
}

/// Returns the bounds of b * floor(a / b), which is at most a and greater than a - b. If b is not positive,
/// the division is never executed.
PointSet Instances::BoundsOfMultiple(const Affine& multiple, AtomFacts quotient) {
  Affine dividend = AffineOf(quotient.a);
  Affine divisor = AffineOf(quotient.b);
  PointSet bounds = AtMost(multiple, dividend) & Less(dividend, multiple + divisor);
  bounds |= AtMost(divisor, Constant(0));
  return bounds.known() ? bounds : All();
}

PointSet Instances::FactsAboutProduct(const Product& product) {
  Affine none = Constant(0);
  PointSet set = InOrder(product.multiple, Variable(product.product), none, none, product.factor);
  if (std::optional<Poly> end = EndOfBlocks(product))
    set &= Less(Variable(product.product), AffineOf(*end));
  return set;
}

std::optional<Poly> Instances::EndOfBlocks(const Product& product) {
  if (!product.atom) return std::nullopt;
  const AtomFacts binder = terms_.Facts(*product.atom);
  if (binder.kind != AtomKind::Scalar || !LoopEndsOf(binder.value)) return std::nullopt;
  LoopEnds bounds = *LoopEndsOf(binder.value);
  Poly hi = terms_.PolyOfValue(bounds.hi);
  std::optional<AtomId> atom = hi.Greatest();
  if (!atom || terms_.PolyOfValue(bounds.lo) != Poly(0)) return std::nullopt;
  const AtomFacts blocks = terms_.Facts(*atom);
  Poly whole = hi - Poly::Atom(*atom);
  Poly size = Poly::Atom(product.factor);
  bool is_size = terms_.IsNonNegative(size);
  if (!is_size || blocks.kind != AtomKind::Quotient || blocks.b != size) return std::nullopt;
  return blocks.a + size * (whole - 1) + 1;  // the quotient is ceil(end / size)
}

PointSet Instances::FactsAbout(const std::string& variable) {
  if (const PointSet* known = facts_.Find(variable)) return *known;
  PointSet set = All();
  std::optional<AtomId> atom = variables_.at(variable).atom;
  if (products_.contains(variable)) {
    for (const Product& product : ProductsOf(variable)) set &= FactsAboutProduct(product);
    if (atom) set &= BoundsOfMultiple(Variable(variable), terms_.Facts(*atom));
  } else if (atom) {
    const AtomFacts facts = terms_.Facts(*atom);
    bool is_binder = facts.value && facts.kind != AtomKind::Element && LoopEndsOf(facts.value);
    set = is_binder ? Iterations(facts.value) : AtomBounds(*atom);
  } else if (IsCondition(variable)) {
    set = AtMost(Constant(0), Variable(variable)) & AtMost(Variable(variable), Constant(1));
  }
  return facts_.Keep(variable, set);
}

const std::vector<Product>& Instances::ProductsOf(const std::string& variable) const {
  static const std::vector<Product> kNone;
  auto products = products_.find(variable);
  return products == products_.end() ? kNone : products->second;
}

/// Adds the facts about products with the same factor: they are ordered like their other operands and differ
/// by at least the factor.
PointSet Instances::WithOrder(PointSet set) {
  std::map<AtomId, std::vector<Product>> by_factor;
  for (const std::string& name : set.Variables()) {
    for (const Product& product : ProductsOf(name)) by_factor[product.factor].push_back(product);
  }
  for (const auto& [factor, products] : by_factor) {
    if (products.size() > kMostOrdered) continue;
    for (size_t i = 0; i < products.size(); ++i) {
      for (size_t j = 0; j < i; ++j)
        set &= InOrder(products[i].multiple, Variable(products[i].product), products[j].multiple,
                       Variable(products[j].product), factor);
    }
  }
  return set;
}

PointSet Instances::WithFacts(PointSet set, Names& known, bool of_products) {
  for (bool more = true; more && set.known();) {
    more = false;
    for (const std::string& name : set.Variables()) {
      bool counts = variables_.contains(name) && (of_products || !products_.contains(name));
      if (!counts || !known.insert(name).second) continue;
      set &= FactsAbout(name);
      more = true;
    }
  }
  return set;
}

PointSet Instances::WithFacts(PointSet set, Names known) {
  set = WithFacts(std::move(set), known, false);
  return WithOrder(WithFacts(std::move(set), known, true));
}

Instances::Names Instances::VariablesOf(const Poly& poly) {
  Names names;
  PointSet numbers = Equal(Variable("#number"), AffineOf(poly));
  for (const std::string& name : numbers.Variables()) {
    if (IsDeclared(name) && !ScopeOf(name).is_launch()) names.insert(name);
  }
  return names;
}

bool Instances::IsRaggedBound(const std::string& variable, const Op* loop) {
  return std::ranges::any_of(ragged_, [&](const Ragged& ragged) {
    bool is_number =
        ragged.number_of_block && variable == VariableName(terms_.ScalarAtom(ragged.binder));
    return ragged.over() == loop && (is_number || VariablesOf(ragged.lower).contains(variable) ||
                                     VariablesOf(ragged.upper).contains(variable));
  });
}

bool Instances::IsCore(const std::string& variable) {
  return variable == VariableName(terms_.CoreIdAtom());
}

bool Instances::IsCondition(const std::string& variable) const {
  const Kind& kind = variables_.at(variable);
  return kind.is_opaque && !kind.atom && !products_.contains(variable);
}

const Value* Instances::BlockOfPoint(const std::string& variable) const {
  auto kind = variables_.find(variable);
  if (kind == variables_.end() || !kind->second.atom) return nullptr;
  const AtomFacts& facts = terms_.Facts(*kind->second.atom);
  return facts.kind == AtomKind::Element ? facts.value : nullptr;
}

bool Instances::IsCounted(const std::string& variable) const {
  std::optional<AtomId> atom = variables_.at(variable).atom;
  const Value* value = atom ? terms_.Facts(*atom).value : nullptr;
  return value && (terms_.Facts(*atom).kind == AtomKind::Element || LoopEndsOf(value));
}

bool Instances::LoopIsIn(const Op* loop, const Op* outer) const {
  return !outer || IsInside(loop, outer);
}

bool Instances::IsBinderOf(const std::string& variable, const Op* loop) const {
  std::optional<AtomId> atom = variables_.at(variable).atom;
  if (!atom) return false;
  const AtomFacts& facts = terms_.Facts(*atom);
  return facts.value && facts.kind != AtomKind::Element && LoopEndsOf(facts.value) &&
         facts.value->parent_region()->parent() == loop;
}

bool Instances::IsOpaque(const PointSet& set) const {
  for (const std::string& name : set.Variables()) {
    auto variable = variables_.find(name);
    if (variable != variables_.end() && variable->second.is_opaque) return true;
  }
  return !set.known();
}

PointSet Instances::InOrder(const Affine& a, const Affine& of_a, const Affine& b,
                            const Affine& of_b, AtomId factor) {
  Affine step = AffineOfAtom(factor);
  auto apart = [](const Affine& less, const Affine& greater, const Affine& by) {
    return AtMost(less + by, greater);
  };
  PointSet equal = Equal(a, b) & Equal(of_a, of_b);
  PointSet rises =
      equal | (Less(a, b) & apart(of_a, of_b, step)) | (Less(b, a) & apart(of_b, of_a, step));
  const std::vector<AtomBound>& least = terms_.Facts(factor).lower;
  bool is_size = std::ranges::any_of(least, [](const AtomBound& bound) {
    return bound.scale == Poly(1) && bound.bound.AsConstant().value_or(-1) >= 0;
  });
  if (is_size) return rises;
  Affine none = Constant(0);
  PointSet falls = equal | (Less(a, b) & apart(of_b, of_a, none - step)) |
                   (Less(b, a) & apart(of_a, of_b, none - step));
  return (AtMost(none, step) & rises) | (Less(step, none) & falls);
}

}  // namespace kdl::proofs
