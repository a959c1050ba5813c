#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proofs/ragged.h"
#include "proofs/scopes.h"
#include "proofs/sets.h"
#include "proofs/terms.h"

namespace kdl::proofs {

// The runs of a kernel's code as points: a variable for each size name, each number of a loop's turn, each element of a
// block, and for each value of which nothing is known: an integer of any size, a condition that is 0 or 1. What the code
// says of them is a set. Equal values share a variable; what varies with what is the variable's scope.

/// The product, a variable, of a number that is the same in all of a launch, and another one.
struct Product {
  std::string product;
  AtomId factor;
  Affine multiple;
  std::optional<AtomId> atom;  ///< the other number, where it is a variable of code
};

class Instances {
 public:
  using Names = std::set<std::string>;

  /// `known`: sizes of the launches that are looked at.
  Instances(const SetContext& context, const ir::Function& kernel, ir::TypeTable& types,
            Sizes known = {});

  const SetContext& context() const { return context_; }
  const ir::Function& kernel() const { return terms_.function(); }
  Terms& terms() { return terms_; }

  PointSet All() const { return PointSet::All(context_); }
  PointSet None() const { return PointSet::None(context_); }
  Affine Constant(int64_t value) const { return Affine::Constant(context_, value); }
  Affine Variable(const std::string& name) const { return Affine::Variable(context_, name); }

  /// Products are variables of their own.
  Affine Of(const Poly& poly);
  Affine OfValue(const ir::Value* value) { return Of(terms_.OfValue(value)); }
  /// Where a bool has this value, at the point that is looked at.
  PointSet Where(const ir::Value* condition, bool holds);
  PointSet Compare(ir::CompareKind kind, const Poly& a, const Poly& b);

  /// What holds of every launch that is not refused.
  const PointSet& Launch();
  /// From here on launches that do not meet a `require` are refused, too.
  void Require(const ir::Op* op);
  /// The runs of the code in a block, or after the asserts before an op: loops around it have a turn, branches are taken.
  PointSet Around(const ir::Op* op);
  /// The values that a binder of a loop takes.
  const PointSet& Iterations(const ir::Value* binder);
  /// The elements of the blocks of these axes at `op`, as variables.
  PointSet Points(const ir::Op* op, const ir::AxisList& axes);
  /// The points of an access; with its mask, those where that holds.
  PointSet PointsOf(const AccessView& view, bool masked = true);
  PointSet RunsOf(const AccessView& view, bool masked = true) {
    return Launch() & Around(view.op) & PointsOf(view, masked);
  }
  /// The set, and what is known of its variables, of those that this speaks of, and so on.
  PointSet WithFacts(PointSet set, Names known = {});
  /// The same but for what is known of products, which come in pieces; `known` gets the variables' names.
  PointSet WithBounds(PointSet set, Names& known) {
    return WithFacts(std::move(set), known, false);
  }

  /// Elements of tensors, and numbers that a question adds, have no scope.
  bool IsDeclared(const std::string& variable) const { return variables_.contains(variable); }
  bool IsCore(const std::string& variable);
  bool IsCondition(const std::string& variable) const;
  /// The block whose element it is; null: none's.
  const ir::Value* BlockOfPoint(const std::string& variable) const;
  /// Whether it is a number of a loop's turn, or a point.
  bool IsCounted(const std::string& variable) const;
  /// Whether a loop is `outer` or in it; all are in null.
  bool LoopIsIn(const ir::Op* loop, const ir::Op* outer) const;
  /// Whether it tells the turns of a binder of the loop apart.
  bool IsBinderOf(const std::string& variable, const ir::Op* loop) const;
  /// Whether runs of code inside of the op are not what the branches around it say, but more.
  bool IsShortened(const ir::Op* op) const { return shortened_.contains(op); }
  PointSet FactsOfProduct(const Product& product);
  /// What is known of a variable alone, in others' terms. It leaves no value of the others out: sets that speak of the
  /// variable may be of launches that never make it.
  PointSet FactsOf(const std::string& variable);
  const Scope& ScopeOf(const std::string& variable) const { return variables_.at(variable).scope; }
  /// Nothing more is known of it than bounds: what is shown for some value of it need not happen.
  bool IsOpaque(const std::string& variable) const { return variables_.at(variable).is_opaque; }
  bool IsOpaque(const PointSet& set) const;
  /// Whether blocks of the block have an extent that is a number.
  std::optional<int64_t> ExtentOf(const ir::Value* block);
  std::string NameOf(AtomId atom);

  /// What has no scope yet is a variable of the launch, of which no more is known than of a product.
  void Declare(const Product& product) {
    products_[product.product].push_back(product);
    Declare(product.product, {}, true, std::nullopt);
  }
  /// From here on the parts of these walks count as apart: the launch checks it.
  void Assume(std::vector<Ragged> ragged) { ragged_ = std::move(ragged); }
  const std::vector<Ragged>& ragged() const { return ragged_; }
  /// The variables that a number is made of, but for those that are the same in all of a launch.
  Names VariablesOf(const Poly& poly);
  /// Whether it is in a bound of what a block of the walk has, by tables.
  bool IsRaggedBound(const std::string& variable, const ir::Op* walk);
  /// One for each of its numbers that is a size; none: the variable is no product.
  const std::vector<Product>& ProductsOf(const std::string& variable) const;
  /// What is known of a * factor and b * factor together: they go in the order of a and b, at least the factor apart.
  PointSet InOrder(const Affine& a, const Affine& of_a, const Affine& b, const Affine& of_b,
                   AtomId factor);
  /// Of b * B where b counts the blocks of 0 .. end in blocks of B: the end.
  std::optional<Poly> EndOfBlocks(const Product& product);

 private:
  struct Kind {
    Scope scope;
    bool is_opaque = false;
    std::optional<AtomId> atom;
  };
  struct Extreme {
    Poly a;
    Poly b;
    bool is_least;
  };
  std::optional<Extreme> ExtremeOf(AtomId atom);
  PointSet Below(const Poly& a, const Poly& b);
  Affine OfAtom(AtomId atom);
  Affine OfChoice(const AtomFacts& facts);
  Affine OfProduct(const Monomial& monomial);
  std::optional<AtomId> QuotientIn(const Monomial& monomial) const;
  PointSet BoundsOfMultiple(const Affine& multiple, AtomFacts quotient);
  bool IsAny(AtomId atom);
  PointSet BoundsOf(AtomId atom);
  PointSet WhereComputed(const ir::Value* condition, bool holds);
  PointSet WhereBoth(const ir::Op* op, bool holds);
  PointSet WhereResult(const ir::Value* result, bool holds);
  PointSet OfTable(const ir::Value* value, const Affine& at);
  PointSet WithFacts(PointSet set, Names& known, bool of_products);
  PointSet WithOrder(PointSet set);
  PointSet OfBlock(const ir::Region* region);
  void Declare(const std::string& name, Scope scope, bool is_opaque, std::optional<AtomId> atom);

  const SetContext& context_;
  Terms terms_;
  Scopes scopes_;
  std::map<std::string, Kind> variables_;
  std::map<std::string, std::vector<Product>> products_;
  std::vector<Ragged> ragged_;
  std::map<const ir::Value*, size_t> conditions_;
  std::map<std::pair<const ir::Value*, bool>, PointSet> where_;
  std::map<const ir::Value*, PointSet> iterations_;
  std::map<const ir::Region*, PointSet> blocks_;
  std::set<const ir::Op*> shortened_;
  std::map<AtomId, Affine> atoms_;
  std::map<std::string, PointSet> facts_;
  std::optional<PointSet> launch_;
};

}  // namespace kdl::proofs
