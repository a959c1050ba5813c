#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proofs/kept_sets.h"
#include "proofs/ragged.h"
#include "proofs/scopes.h"
#include "proofs/sets.h"
#include "proofs/terms.h"

namespace kdl::proofs {

// Represents the executions of a kernel's code as points. There is a variable for each size name, for each
// loop's iteration number, for each element of a block, and for each unknown value: an integer of any size,
// or a condition that is 0 or 1. Sets express what the code says about the variables. Equal values share a
// variable. The scope of a variable tells what its value depends on.

/// A variable for the product of two numbers, one of which (`factor`) is the same throughout a launch.
struct Product {
  std::string product;
  AtomId factor;
  Affine multiple;
  std::optional<AtomId> atom;  ///< the other number, if it has a variable of its own
};

class Instances {
 public:
  using Names = std::set<std::string>;

  /// `known` contains the values of sizes, if only launches with these values are considered.
  Instances(const SetContext& context, const ir::Function& kernel, ir::TypeTable& types,
            Sizes known = {});

  const SetContext& context() const { return context_; }
  const ir::Function& kernel() const { return terms_.function(); }
  Terms& terms() { return terms_; }

  PointSet All() const { return PointSet::All(context_); }
  PointSet None() const { return PointSet::None(context_); }
  Affine Constant(int64_t value) const { return Affine::Constant(context_, value); }
  Affine Variable(const std::string& name) const { return Affine::Variable(context_, name); }

  /// Converts a polynomial to an affine function, in which each product of atoms is a variable.
  Affine AffineOf(const Poly& poly);
  Affine AffineOfValue(const ir::Value* value) { return AffineOf(terms_.PolyOfValue(value)); }
  /// Returns the condition that a bool has the value `holds` at the current point.
  PointSet Where(const ir::Value* condition, bool holds);
  PointSet Compare(ir::CompareKind kind, const Poly& a, const Poly& b);

  /// Returns the conditions that hold in every launch that is not refused.
  const PointSet& Launch();
  /// From now on, launches that violate this `require` also count as refused.
  void Require(const ir::Op* op);
  /// Returns the executions that reach an op. They are in some iteration of each loop around the op, take the
  /// branches that contain the op, and have passed all asserts before it.
  PointSet Around(const ir::Op* op);
  /// Returns the set of values of a loop variable.
  PointSet Iterations(const ir::Value* binder);
  /// Returns the condition that the variables for the elements of these axes are within the axes' blocks at
  /// `op`.
  PointSet Points(const ir::Op* op, const ir::AxisList& axes);
  /// Returns the points of an access; if `masked` is true, only those where its mask is true.
  PointSet PointsOf(const AccessView& view, bool masked = true);
  PointSet RunsOf(const AccessView& view, bool masked = true) {
    return Launch() & Around(view.op) & PointsOf(view, masked);
  }
  /// Returns the set restricted by everything that is known about its variables, about the variables that
  /// these facts mention, and so on. Variables in `known` are skipped.
  PointSet WithFacts(PointSet set, Names known = {});
  /// Like `WithFacts`, but without the facts about products, which would split the set into pieces. Adds the
  /// names of the variables to `known`.
  PointSet WithBounds(PointSet set, Names& known) {
    return WithFacts(std::move(set), known, false);
  }

  /// Whether the variable has a scope. Variables for elements of tensors, and variables that are introduced
  /// only for one query, do not have one.
  bool IsDeclared(const std::string& variable) const { return variables_.contains(variable); }
  bool IsCore(const std::string& variable);
  bool IsCondition(const std::string& variable) const;
  /// Returns the block whose element the variable denotes; null if there is none.
  const ir::Value* BlockOfPoint(const std::string& variable) const;
  /// Returns whether the variable is an iteration number of a loop or a point of a block.
  bool IsCounted(const std::string& variable) const;
  /// Returns whether a loop is `outer` or nested in it. Always true if `outer` is null.
  bool LoopIsIn(const ir::Op* loop, const ir::Op* outer) const;
  /// Returns whether the variable distinguishes the iterations of the loop.
  bool IsBinderOf(const std::string& variable, const ir::Op* loop) const;
  /// Returns whether some branch conditions inside the op have been dropped, so that the executions there are
  /// a superset.
  bool IsShortened(const ir::Op* op) const { return shortened_.contains(op); }
  PointSet FactsAboutProduct(const Product& product);
  /// Returns the known facts about one variable, in terms of other variables. They do not restrict the values
  /// of the others, because a set that mentions the variable may also contain launches that never compute it.
  PointSet FactsAbout(const std::string& variable);
  const Scope& ScopeOf(const std::string& variable) const { return variables_.at(variable).scope; }
  /// Whether only bounds of the variable are known, so that it need not take every value within them.
  bool IsOpaque(const std::string& variable) const { return variables_.at(variable).is_opaque; }
  bool IsOpaque(const PointSet& set) const;
  /// Returns the block's extent, or nothing if the extent is not a number.
  std::optional<int64_t> ConstantExtent(const ir::Value* block);
  std::string VariableName(AtomId atom);

  /// Records that a variable is a product. If the variable is new, it has the same value throughout a launch,
  /// and the only known facts about it are those about products.
  void Declare(const Product& product) {
    products_[product.product].push_back(product);
    Declare(product.product, {}, true, std::nullopt);
  }
  /// From now on, assumes that the parts of these loops are disjoint. The launch must check that they are.
  void Assume(std::vector<Ragged> ragged) { ragged_ = std::move(ragged); }
  const std::vector<Ragged>& ragged() const { return ragged_; }
  /// Returns the variables on which a number depends, except those that are the same in a whole launch.
  Names VariablesOf(const Poly& poly);
  /// Returns whether the variable occurs in a bound of the parts that iterations of the loop handle (see `Ragged`).
  bool IsRaggedBound(const std::string& variable, const ir::Op* loop);
  /// Returns all ways to write the variable as a product of which one factor is the same throughout a launch.
  /// Returns an empty list if the variable is not a product.
  const std::vector<Product>& ProductsOf(const std::string& variable) const;
  /// Returns the facts that relate a * factor and b * factor: if a < b, then b * factor exceeds a * factor by
  /// at least the factor.
  PointSet InOrder(const Affine& a, const Affine& of_a, const Affine& b, const Affine& of_b,
                   AtomId factor);
  /// If b, in the product b * B, iterates over the blocks of size B in 0 .. end, returns `end`.
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
  Affine AffineOfAtom(AtomId atom);
  Affine AffineOfChoice(const AtomFacts& facts);
  Affine AffineOfProduct(const Monomial& monomial);
  std::optional<AtomId> QuotientIn(const Monomial& monomial) const;
  PointSet BoundsOfMultiple(const Affine& multiple, AtomFacts quotient);
  bool IsAny(AtomId atom);
  PointSet AtomBounds(AtomId atom);
  PointSet WhereComputed(const ir::Value* condition, bool holds);
  PointSet WhereBoth(const ir::Op* op, bool holds);
  PointSet WhereResult(const ir::Value* result, bool holds);
  PointSet TableFacts(const ir::Value* value, const Affine& at);
  PointSet WithFacts(PointSet set, Names& known, bool of_products);
  PointSet WithOrder(PointSet set);
  PointSet RunsOfRegion(const ir::Region* region);
  void Declare(const std::string& name, Scope scope, bool is_opaque, std::optional<AtomId> atom);

  const SetContext& context_;
  Terms terms_;
  Scopes scopes_;
  std::map<std::string, Kind> variables_;
  std::map<std::string, std::vector<Product>> products_;
  std::vector<Ragged> ragged_;
  std::map<const ir::Value*, size_t> conditions_;
  KeptSets<std::pair<const ir::Value*, bool>> where_;
  KeptSets<const ir::Value*> iterations_;
  KeptSets<const ir::Region*> blocks_;
  std::set<const ir::Op*> shortened_;
  std::map<AtomId, Affine> atoms_;
  KeptSets<std::string> facts_;
  std::optional<PointSet> launch_;
  uint64_t query_of_launch_ =
      0;  ///< the query that has computed it; a later one may have enough steps
};

}  // namespace kdl::proofs
