#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "ir/module.h"
#include "proofs/accesses.h"
#include "proofs/made_values.h"
#include "proofs/poly.h"
#include "proofs/value_numbers.h"
#include "proofs/wraps.h"

namespace kdl::proofs {

enum class AtomKind : uint8_t {
  Size,      ///< a size name or an int generic
  Scalar,    ///< an integer value of which only its bounds are known
  CoreId,    ///<
  CoreNum,   ///<
  Start,     ///< of a block
  Count,     ///< of a block: its elements
  Number,    ///< of a block: in its loop
  Element,   ///< of a block: the absolute index at the point that is looked at
  Quotient,  ///< floor(a / b)
  Min,
  Max,
  Wrapped,  ///< what 64 bits hold of a, which may leave them
  Choice,   ///< a where the condition `value` holds, else b
};

/// scale * atom >= bound (or <=); scale is at least 1.
struct AtomBound {
  Poly scale;
  Poly bound;
};

struct AtomFacts {
  AtomKind kind;
  Name symbol{};
  const ir::Value* value = nullptr;
  Poly a{}, b{};
  std::vector<AtomBound> lower{}, upper{};  ///< over atoms made before
  int choices = 0;                          ///< in one another, in a and b and itself
};

/// The integers of a function as polynomials over atoms, with what bounds these. The one place that knows what values,
/// sizes and blocks mean. Equal values have equal polynomials.
class Terms {
 public:
  /// Of launches that have these sizes, if any are given.
  Terms(const ir::Function& function, ir::TypeTable& types, Sizes known = {})
      : function_(function), types_(types), known_(std::move(known)), wraps_(function) {}

  const ir::Function& function() const { return function_; }
  ValueNumbers& numbers() { return numbers_; }
  const AtomFacts& Facts(AtomId atom) const { return atoms_[atom]; }

  Poly OfSize(Size size) { return OfSize(size, By::Launch); }
  /// An integer scalar, or a tile of integers at the point that is looked at.
  Poly OfValue(const ir::Value* value);
  /// Right modulo 2^64, where sums and products of the index wrap: so an index that is inside, as a number, is so as 64 bits.
  Poly OfIndex(const AccessView& view, size_t dim);
  /// floor(a / b); b is at least 1.
  Poly OfQuotient(const Poly& a, const Poly& b);
  /// A block's start, size or index, as the op of that kind asks for.
  Poly OfFact(ir::OpKind fact, const ir::Value* block);
  /// The tensor in whose indices accesses of a memory are compared: the one view through which all of them go, else the
  /// memory itself.
  const ir::Value* Coordinates(const ir::Value* tensor);
  /// The element that an access touches, as an index of that tensor.
  std::vector<Poly> OfElement(const AccessView& view);
  Poly OfDim(const AccessView& view, size_t dim) { return OfSize(view.tensor->type()->dims[dim]); }

  /// A sum of products of numbers that are not negative.
  bool IsNonNegative(const Poly& poly) const;
  /// By numbers alone: a number, what one bounds, or the least or greatest of such.
  bool IsPositive(const Poly& poly) const;
  bool IsBetween(const Poly& a, const Poly& end) const;

  AtomId StartOf(const ir::Value* block);  ///< of a loop's block
  AtomId CountOf(const ir::Value* block);
  AtomId NumberOf(const ir::Value* block);
  AtomId ElementOf(const ir::Value* block);
  AtomId ScalarOf(const ir::Value* value);
  AtomId CoreIdAtom();
  AtomId CoreNumAtom();

 private:
  using Key = std::tuple<AtomKind, const void*, Poly, Poly>;
  AtomId Intern(AtomFacts facts);
  /// As if sums and products were those of numbers.
  Poly Modulo(const ir::Value* value);
  Poly Computed(const ir::Value* value);
  /// Who computes a size: a launch, which is refused where it leaves 64 bits, or the cores, whose sums and products wrap.
  enum class By : uint8_t { Launch, Cores };
  Poly OfSize(Size size, By by);
  Poly OfSymbol(Name symbol);
  /// What 64 bits hold of it.
  Poly Wrapped(Poly poly);
  Poly OfResult(const ir::Value* value);
  std::optional<Poly> IterationsOfSteps(const ir::Op* select);
  Poly OfExtreme(AtomKind kind, const Poly& a, const Poly& b);
  /// The result of a select or an `if`.
  Poly OfChoice(const ir::Value* value, const ir::Value* a, const ir::Value* b);
  /// The most in one another of the polynomial's atoms.
  int ChoicesIn(const Poly& poly) const;

  const ir::Function& function_;
  ir::TypeTable& types_;
  Sizes known_;
  Wraps wraps_;
  ValueNumbers numbers_;
  std::vector<AtomFacts> atoms_;
  std::map<Key, AtomId> index_;
  std::map<const ir::Value*, Poly> modulo_;
  std::map<const ir::Value*, const ir::Value*> coordinates_;  ///< by memory
};

/// What a comparison is where it does not hold.
ir::CompareKind Negated(ir::CompareKind kind);
std::optional<ir::CompareKind> ComparisonOf(ir::OpKind kind);

}  // namespace kdl::proofs
