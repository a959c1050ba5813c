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
  Scalar,    ///< an integer value of which only bounds are known
  CoreId,    ///< the number of the core
  CoreNum,   ///< the number of cores
  Start,     ///< the start of a block
  Count,     ///< the number of a block's elements
  Number,    ///< a block's number in its loop
  Element,   ///< the index of a block's element at the current point
  Quotient,  ///< floor(a / b)
  Min,
  Max,
  Wrapped,  ///< `a` modulo 2^64, because `a` may overflow
  Choice,   ///< a if the condition `value` is true, otherwise b
};

/// A lower bound scale * atom >= bound, or an upper bound scale * atom <= bound. `scale` is at least 1.
struct AtomBound {
  Poly scale;
  Poly bound;
};

struct AtomFacts {
  AtomKind kind;
  Name symbol{};
  const ir::Value* value = nullptr;
  Poly a{}, b{};
  std::vector<AtomBound> lower{}, upper{};  ///< both in terms of earlier atoms
  /// How deeply choices are nested in `a`, `b` and this atom.
  int choices = 0;
};

/// Represents the integers of a function as polynomials over atoms, and knows the bounds of the atoms. Only
/// this class interprets values, sizes and blocks. Equal values have equal polynomials.
class Terms {
 public:
  /// `known` contains the values of sizes, if only launches with these values are considered.
  Terms(const ir::Function& function, ir::TypeTable& types, Sizes known = {})
      : function_(function), types_(types), known_(std::move(known)), wraps_(function) {}

  const ir::Function& function() const { return function_; }
  ValueNumbers& numbers() { return numbers_; }
  const AtomFacts& Facts(AtomId atom) const { return atoms_[atom]; }

  Poly PolyOfSize(Size size) { return PolyOfSize(size, By::Launch); }
  /// Returns the polynomial of an integer scalar, or of a tile of integers at the current point.
  Poly PolyOfValue(const ir::Value* value);
  /// Returns the polynomial of an index. If sums and products of the index wrap, the polynomial is correct
  /// only modulo 2^64. So if its value is in bounds, the 64-bit index is, too.
  Poly PolyOfIndex(const AccessView& view, size_t dim);
  /// Returns floor(a / b); b must be at least 1.
  Poly PolyOfQuotient(const Poly& a, const Poly& b);
  /// Returns the property of a block that ops of kind `fact` compute: its start, size or index.
  Poly PolyOfFact(ir::OpKind fact, const ir::Value* block);
  /// Returns the tensor whose indices are used to compare accesses to a memory: the only view through which
  /// it is accessed, or the memory itself.
  const ir::Value* Coordinates(const ir::Value* tensor);
  /// Returns the element that an access touches, as indices of the tensor that `Coordinates` returns.
  std::vector<Poly> PolysOfElement(const AccessView& view);
  Poly PolyOfDim(const AccessView& view, size_t dim) {
    return PolyOfSize(view.tensor->type()->dims[dim]);
  }

  /// Returns whether the polynomial is a sum of products of non-negative numbers.
  bool IsNonNegative(const Poly& poly) const;
  /// Returns whether the polynomial is obviously positive: a positive number, an atom with a positive number
  /// as lower bound, or a minimum or maximum of such polynomials.
  bool IsPositive(const Poly& poly) const;
  bool IsBetween(const Poly& a, const Poly& end) const;

  AtomId StartAtom(const ir::Value* block);  ///< the block must belong to a loop
  AtomId CountAtom(const ir::Value* block);
  AtomId NumberAtom(const ir::Value* block);
  AtomId ElementAtom(const ir::Value* block);
  AtomId ScalarAtom(const ir::Value* value);
  AtomId CoreIdAtom();
  AtomId CoreNumAtom();

 private:
  using Key = std::tuple<AtomKind, const void*, Poly, Poly>;
  AtomId Intern(AtomFacts facts);
  /// Computes a value as if sums and products did not wrap.
  Poly Modulo(const ir::Value* value);
  Poly Computed(const ir::Value* value);
  /// Selects who computes a size. A launch whose size overflows 64 bits is refused, whereas sums and products
  /// that the cores compute wrap.
  enum class By : uint8_t { Launch, Cores };
  Poly PolyOfSize(Size size, By by);
  Poly PolyOfSymbol(Name symbol);
  /// Returns the polynomial modulo 2^64.
  Poly Wrapped(Poly poly);
  Poly PolyOfResult(const ir::Value* value);
  std::optional<Poly> IterationsOfSteps(const ir::Op* select);
  Poly PolyOfExtreme(AtomKind kind, const Poly& a, const Poly& b);
  /// Returns the polynomial of the result of a select or an `if`.
  Poly PolyOfChoice(const ir::Value* value, const ir::Value* a, const ir::Value* b);
  /// Returns how deeply choices are nested in the polynomial's atoms.
  int ChoicesIn(const Poly& poly) const;

  const ir::Function& function_;
  ir::TypeTable& types_;
  Sizes known_;
  Wraps wraps_;
  ValueNumbers numbers_;
  std::vector<AtomFacts> atoms_;
  std::map<Key, AtomId> index_;
  std::map<const ir::Value*, Poly> modulo_;
  std::map<const ir::Value*, const ir::Value*> coordinates_;  ///< keyed by the memory
};

/// Returns the opposite comparison, which is true exactly when the given comparison is false.
ir::CompareKind Negated(ir::CompareKind kind);
std::optional<ir::CompareKind> ComparisonOf(ir::OpKind kind);

}  // namespace kdl::proofs
