#pragma once

#include <map>
#include <optional>
#include <vector>

#include "proofs/linear.h"

namespace kdl::proofs {

enum class Feasibility : uint8_t {
  Empty,     ///< no point, not even a rational one, is in all ranges
  HasPoint,  ///< an integer point is in all ranges
  Unknown,   ///< a rational point is in all ranges, or the computation would take too long
};

/// Decides whether ranges of sums have a common point: the general simplex method of Dutertre and de Moura ("A fast
/// linear-arithmetic solver for DPLL(T)", 2006). Ranges can be added at any time, and copies are cheap.
class Simplex {
 public:
  explicit Simplex(const LinearTable& table) : table_(table) {}

  /// Adds a row for the sum if there is none.
  void Watch(SumId sum) { RowOf(sum); }
  /// Narrows the range of a sum.
  void Restrict(const LinearRange& range);
  Feasibility Check();

 private:
  /// A variable or a sum of variables, with its range. Its value is 0 or a bound unless it has a row.
  struct Unknown {
    int64_t least = LinearRange::kNoLeast;
    int64_t most = LinearRange::kNoMost;
    int64_t value = 0;
    bool has_row = false;
  };
  /// divisor * unknown = the sum of factors[i] * columns_[i].
  struct Row {
    size_t unknown;
    int64_t divisor;
    std::vector<int64_t> factors;
  };
  enum class Side : uint8_t { Inside, Below, Above };

  size_t ColumnOf(VariableId variable);
  size_t RowOf(SumId sum);
  bool AddRow(const LinearTerms& terms, size_t unknown);
  __int128 ValueOf(const Row& row) const;
  Side SideOf(const Row& row) const;
  bool MayMove(size_t unknown, bool up) const;
  std::optional<size_t> ColumnToMove(const Row& row, Side side) const;
  bool Pivot(size_t row, size_t column);
  bool Substitute(Row& row, const Row& by, size_t column) const;
  bool IsIntegral() const;

  const LinearTable& table_;
  std::vector<Unknown> unknowns_;
  std::vector<size_t> columns_;  ///< the unknowns without rows
  std::vector<Row> rows_;
  std::map<VariableId, size_t> of_variables_;
  std::map<SumId, size_t> of_sums_;
  bool is_empty_ = false;
  bool overflows_ = false;
};

}  // namespace kdl::proofs
