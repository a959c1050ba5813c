#include "sema/injective.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "sema/resolve.h"
#include "sema/sizes.h"

namespace kdl::sema {

namespace {

using syntax::BinaryOp;

using Ranges = std::vector<const Entity*>;

const Ranges& RangesOfValue(const FunctionState& state, const IndexTerm& term) {
  return state.fn.exprs.at(term.value).type.ranges;
}

/// `k / 8` or `k % 8` of a range.
struct Quotient {
  const Entity* range = nullptr;
  BinaryOp op = BinaryOp::Div;
  Size divisor = nullptr;
};
std::optional<Quotient> QuotientOf(const FunctionState& state, const IndexTerm& term) {
  const auto* binary = syntax::DynAs<syntax::BinaryExpr>(term.value);
  if (binary == nullptr || (binary->op != BinaryOp::Div && binary->op != BinaryOp::Rem))
    return std::nullopt;
  if (syntax::DynAs<syntax::NameExpr>(binary->lhs) == nullptr) return std::nullopt;
  const ExprInfo& range = state.fn.exprs.at(binary->lhs);
  Size divisor = state.fn.exprs.at(binary->rhs).size;
  if (range.entity == nullptr || range.entity->kind != EntityKind::Range || divisor == nullptr)
    return std::nullopt;
  return Quotient{range.entity, binary->op, divisor};
}

/// Finds out range by range which ones the element gives away.
class Solver {
 public:
  Solver(FunctionState& state, const IndexInfo& index) : state_(state), index_(index) {
    for (const IndexDim& dim : index.dims) {
      for (const IndexTerm& term : dim.terms)
        open_ =
            UnionOf(open_, term.range != nullptr ? Ranges{term.range} : RangesOfValue(state, term));
    }
  }

  bool Run() {
    for (size_t before = 0; before != open_.size() && !open_.empty();) {
      before = open_.size();
      for (const IndexDim& dim : index_.dims) SolveSum(OpenTerms(dim));
      SolveQuotients();
    }
    return open_.empty();
  }

 private:
  bool IsOpen(const Entity* range) const { return Contains(open_, range); }

  /// The terms that the ranges known so far leave open.
  std::vector<const IndexTerm*> OpenTerms(const IndexDim& dim) const {
    std::vector<const IndexTerm*> terms;
    for (const IndexTerm& term : dim.terms) {
      bool open = term.range != nullptr
                      ? IsOpen(term.range)
                      : std::ranges::any_of(RangesOfValue(state_, term),
                                            [&](const Entity* range) { return IsOpen(range); });
      if (open) terms.push_back(&term);
    }
    return terms;
  }

  /// One range alone, or several like digits: each coefficient above all that the smaller ones reach.
  void SolveSum(std::vector<const IndexTerm*> terms) {
    bool sums = std::ranges::all_of(terms, [](const IndexTerm* t) { return t->range != nullptr; });
    if (terms.empty() || !sums) return;
    if (terms.size() > 1 && !AreDigits(terms)) return;
    for (const IndexTerm* term : terms) std::erase(open_, term->range);
  }

  bool AreDigits(std::vector<const IndexTerm*>& terms) {
    SizeTable& sizes = state_.module.sizes;
    auto is_below = [&](const IndexTerm* a, const IndexTerm* b) {
      std::optional<int64_t> difference = ConstantDifference(sizes, b->coefficient, a->coefficient);
      return difference ? *difference > 0 : IsConstant(a->coefficient, 1);
    };
    std::ranges::sort(terms, is_below);
    Size reach = sizes.Constant(0);  // the most that the smaller ones add up to
    for (const IndexTerm* term : terms) {
      std::optional<int64_t> above = ConstantDifference(sizes, term->coefficient, reach);
      if (!above || *above <= 0) return false;
      Size most = sizes.Binary(SizeKind::Sub, term->range->range.extent, sizes.Constant(1));
      reach =
          sizes.Binary(SizeKind::Add, reach, sizes.Binary(SizeKind::Mul, term->coefficient, most));
    }
    return true;
  }

  /// `k / 8` in one dimension and `k % 8` in another.
  void SolveQuotients() {
    std::vector<Quotient> known;
    for (const IndexDim& dim : index_.dims) {
      std::vector<const IndexTerm*> terms = OpenTerms(dim);
      if (terms.size() != 1 || terms[0]->value == nullptr) continue;
      if (std::optional<Quotient> one = QuotientOf(state_, *terms[0])) known.push_back(*one);
    }
    for (const Quotient& a : known) {
      for (const Quotient& b : known) {
        bool pair = a.range == b.range && a.divisor == b.divisor && a.op != b.op;
        if (pair) std::erase(open_, a.range);
      }
    }
  }

  FunctionState& state_;
  const IndexInfo& index_;
  Ranges open_;
};

}  // namespace

bool IsInjective(FunctionState& state, const IndexInfo& index) {
  return Solver(state, index).Run();
}

}  // namespace kdl::sema
