#include "proofs/linear_sets.h"

#include <algorithm>

#include "proofs/simplex.h"

namespace kdl::proofs {

namespace {

/// The conditions that a range consists of, each with its opposite.
struct Half {
  LinearRange range;
  LinearRange opposite;
};

std::vector<Half> HalvesOf(const LinearRange& range) {
  std::vector<Half> halves;
  if (range.has_least()) {
    halves.push_back(
        {{.sum = range.sum, .least = range.least}, {.sum = range.sum, .most = range.least - 1}});
  }
  if (range.has_most()) {
    halves.push_back(
        {{.sum = range.sum, .most = range.most}, {.sum = range.sum, .least = range.most + 1}});
  }
  return halves;
}

Simplex SimplexOf(const LinearPiece& piece, const LinearPiece& watched, const LinearTable& table) {
  Simplex simplex(table);
  for (const LinearRange& range : piece) simplex.Restrict(range);
  for (const LinearRange& range : watched) simplex.Watch(range.sum);
  return simplex;
}

/// Appends the points of `piece` that are not in `taken` to `left`. There is a part for each condition of `taken` that
/// some points violate; these points meet the conditions before it.
void SubtractPiece(const LinearPiece& piece, const LinearPiece& taken, const LinearTable& table,
                   const MayHavePoint& may_have, LinearPieces& left) {
  Simplex rest_simplex = SimplexOf(piece, taken, table);
  if (rest_simplex.Check() == Feasibility::Empty) return;
  Simplex both = rest_simplex;
  for (const LinearRange& range : taken) both.Restrict(range);
  if (!Meet(piece, taken) || both.Check() == Feasibility::Empty) {
    left.push_back(piece);
    return;
  }
  LinearPiece rest = piece;
  for (const LinearRange& range : taken) {
    for (const Half& half : HalvesOf(range)) {
      std::optional<LinearPiece> outside = Meet(rest, {half.opposite});
      if (!outside) continue;
      Simplex simplex = rest_simplex;
      simplex.Restrict(half.opposite);
      Feasibility is_outside = simplex.Check();
      if (is_outside == Feasibility::Empty) continue;
      if (is_outside == Feasibility::Unknown && !may_have(*outside)) continue;
      left.push_back(*std::move(outside));
      rest_simplex.Restrict(half.range);
      rest = *Meet(rest, {half.range});
    }
  }
}

/// The constraints of a piece, by what they say about the variable to eliminate. Each one is a form that is at least 0.
struct Constraints {
  struct OnVariable {
    int64_t factor;  ///< of the variable, without its sign
    LinearForm form;
    bool is_equality;  ///< whether the other bound is equal
  };
  LinearPiece others;  ///< do not mention the variable
  std::vector<OnVariable> lower;
  std::vector<OnVariable> upper;

  /// Whether the constraints contain the value of the variable, as a linear form.
  bool HaveValue() const { return std::ranges::any_of(lower, IsValue); }
  static bool IsValue(const OnVariable& bound) { return bound.is_equality && bound.factor == 1; }
};

constexpr size_t kMostEliminated =
    16;  ///< the maximum number of pairs of a lower and an upper bound

int64_t FactorOf(const LinearTerms& terms, VariableId variable) {
  auto term = std::ranges::find(terms, variable, &LinearTerms::value_type::first);
  return term == terms.end() ? 0 : term->second;
}

/// Returns nothing if a number does not fit.
std::optional<Constraints> ConstraintsOn(const LinearPiece& piece, VariableId variable,
                                         const LinearTable& table) {
  Constraints found;
  for (const LinearRange& range : piece) {
    LinearForm sum{table.Terms(range.sum)};
    int64_t factor = FactorOf(sum.terms, variable);
    if (factor == 0) {
      found.others.push_back(range);
      continue;
    }
    auto add = [&](int64_t sign, int64_t bound) {
      std::optional<LinearForm> form = AddMultiple(LinearForm{{}, -sign * bound}, sign, sum);
      if (!form) return false;
      bool is_lower = sign * factor > 0;
      int64_t size = is_lower ? sign * factor : -sign * factor;
      (is_lower ? found.lower : found.upper)
          .push_back({size, *std::move(form), range.is_equality()});
      return true;
    };
    if (range.has_least() && !add(1, range.least)) return std::nullopt;
    if (range.has_most() && !add(-1, range.most)) return std::nullopt;
  }
  return found;
}

/// Returns the piece without the variable, which is eliminated from pairs of a lower and an upper bound (Fourier and
/// Motzkin). An integer exists between two bounds if the variable has the factor 1 in one of them. If the value of the
/// variable is known, it suffices to compare the bounds with that value.
std::optional<LinearPieces> ProjectPiece(const LinearPiece& piece, VariableId variable,
                                         LinearTable& table) {
  std::optional<Constraints> on = ConstraintsOn(piece, variable, table);
  if (!on || on->lower.size() * on->upper.size() > kMostEliminated) return std::nullopt;
  LinearPieces left = {on->others};
  bool has_value = on->HaveValue();
  for (const Constraints::OnVariable& lower : on->lower) {
    for (const Constraints::OnVariable& upper : on->upper) {
      if (has_value && !Constraints::IsValue(lower) && !Constraints::IsValue(upper)) continue;
      if (lower.factor != 1 && upper.factor != 1) return std::nullopt;
      std::optional<LinearForm> scaled = AddMultiple(LinearForm(), upper.factor, lower.form);
      std::optional<LinearForm> sum =
          scaled ? AddMultiple(*scaled, lower.factor, upper.form) : std::nullopt;
      std::optional<LinearPieces> where = sum ? table.Where(*sum, false) : std::nullopt;
      if (!where) return std::nullopt;
      std::optional<LinearPiece> met =
          where->empty() ? std::nullopt : Meet(left.front(), where->front());
      if (!met) return LinearPieces();
      left.front() = *std::move(met);
    }
  }
  return left;
}

}  // namespace

LinearPieces Intersect(const LinearPieces& a, const LinearPieces& b, const MayHavePoint& may_have) {
  LinearPieces both;
  bool is_one = a.size() == 1 && b.size() == 1;
  for (const LinearPiece& of_a : a) {
    for (const LinearPiece& of_b : b) {
      std::optional<LinearPiece> piece = Meet(of_a, of_b);
      bool counts = piece && std::ranges::find(both, *piece) == both.end();
      if (counts && (is_one || may_have(*piece))) both.push_back(*std::move(piece));
    }
  }
  return both;
}

LinearPieces Unite(const LinearPieces& a, const LinearPieces& b) {
  LinearPieces all = a;
  for (const LinearPiece& piece : b) {
    if (std::ranges::find(a, piece) == a.end()) all.push_back(piece);
  }
  return all;
}

LinearPieces Subtract(const LinearPieces& a, const LinearPieces& b, const LinearTable& table,
                      const MayHavePoint& may_have) {
  LinearPieces left = a;
  for (const LinearPiece& taken : b) {
    LinearPieces before = std::move(left);
    left.clear();
    for (const LinearPiece& piece : before) SubtractPiece(piece, taken, table, may_have, left);
  }
  return left;
}

std::optional<LinearPieces> Project(const LinearPieces& pieces, VariableId variable,
                                    LinearTable& table) {
  LinearPieces left;
  for (const LinearPiece& piece : pieces) {
    std::optional<LinearPieces> projected = ProjectPiece(piece, variable, table);
    if (!projected) return std::nullopt;
    for (LinearPiece& one : *projected) {
      if (std::ranges::find(left, one) == left.end()) left.push_back(std::move(one));
    }
  }
  return left;
}

}  // namespace kdl::proofs
