#include "proofs/linear_isl.h"

#include <isl/aff.h>
#include <isl/id.h>
#include <isl/mat.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <algorithm>
#include <string>
#include <vector>

namespace kdl::proofs {

namespace {

/// The variables of a set of isl, which are parameters, in the order of their columns.
using Columns = std::vector<VariableId>;

isl_space* SpaceOf(isl_ctx* context, const LinearTable& table, const Columns& columns) {
  isl_space* space = isl_space_params_alloc(context, static_cast<unsigned>(columns.size()));
  for (size_t i = 0; i < columns.size(); ++i) {
    isl_id* id = isl_id_alloc(context, table.Name(columns[i]).c_str(), nullptr);
    space = isl_space_set_dim_id(space, isl_dim_param, static_cast<unsigned>(i), id);
  }
  return space;
}

/// Constraints with the columns: constant, variables.
class MatrixWriter {
 public:
  MatrixWriter(isl_ctx* context, size_t rows, const Columns& columns)
      : columns_(columns),
        matrix_(isl_mat_alloc(context, static_cast<unsigned>(rows),
                              static_cast<unsigned>(columns.size() + 1))) {
    for (size_t row = 0; row < rows; ++row) {
      for (size_t i = 0; i <= columns.size(); ++i)
        matrix_ = isl_mat_set_element_si(matrix_, static_cast<int>(row), static_cast<int>(i), 0);
    }
  }

  /// Adds the row factor * terms + constant.
  void Add(const LinearTerms& terms, int64_t factor, int64_t constant) {
    Set(0, constant);
    for (const auto& [variable, coefficient] : terms) {
      auto column = std::ranges::lower_bound(columns_, variable) - columns_.begin();
      Set(static_cast<int>(column) + 1, factor * coefficient);
    }
    ++row_;
  }
  isl_mat* Take() { return matrix_; }

 private:
  void Set(int column, int64_t number) {
    isl_val* value = isl_val_int_from_si(isl_mat_get_ctx(matrix_), number);
    matrix_ = isl_mat_set_element_val(matrix_, row_, column, value);
  }

  const Columns& columns_;
  isl_mat* matrix_;
  int row_ = 0;
};

isl_set* MakeIslPiece(isl_ctx* context, const LinearTable& table, const Columns& columns,
                      const LinearPiece& piece) {
  auto equalities = std::ranges::count_if(piece, &LinearRange::is_equality);
  size_t others = ConstraintCount(piece) - static_cast<size_t>(equalities);
  MatrixWriter equal(context, static_cast<size_t>(equalities), columns);
  MatrixWriter at_least(context, others, columns);
  for (const LinearRange& range : piece) {
    const LinearTerms& terms = table.Terms(range.sum);
    if (range.is_equality()) {
      equal.Add(terms, 1, -range.least);
      continue;
    }
    if (range.has_least()) at_least.Add(terms, 1, -range.least);
    if (range.has_most()) at_least.Add(terms, -1, range.most);
  }
  return isl_set_from_basic_set(isl_basic_set_from_constraint_matrices(
      SpaceOf(context, table, columns), equal.Take(), at_least.Take(), isl_dim_cst, isl_dim_param,
      isl_dim_set, isl_dim_div));
}

std::optional<int64_t> Number(isl_val* value) {
  constexpr long kMost = (1L << 62) - 1;
  bool fits = isl_val_cmp_si(value, kMost) <= 0 && isl_val_cmp_si(value, -kMost) >= 0;
  std::optional<int64_t> number;
  if (fits) number = isl_val_get_num_si(value);
  isl_val_free(value);
  return number;
}

struct MatrixReader {
  LinearTable& table;
  std::vector<std::optional<VariableId>> columns;  ///< nothing for parameters without constraints
  LinearPieces pieces{};

  std::optional<LinearForm> Row(isl_mat* matrix, int row) const;
  bool Read(isl_mat* matrix, bool are_equalities, std::optional<LinearPiece>& piece);
};

std::optional<LinearForm> MatrixReader::Row(isl_mat* matrix, int row) const {
  LinearForm form;
  auto constant = Number(isl_mat_get_element_val(matrix, row, 0));
  if (!constant) return std::nullopt;
  form.constant = *constant;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i]) continue;
    auto coefficient = Number(isl_mat_get_element_val(matrix, row, static_cast<int>(i) + 1));
    if (!coefficient) return std::nullopt;
    if (*coefficient != 0) form.terms.emplace_back(*columns[i], *coefficient);
  }
  std::ranges::sort(form.terms);
  return form;
}

/// Restricts the piece by the rows of a matrix, which it frees. The piece becomes empty if they contradict each other.
bool MatrixReader::Read(isl_mat* matrix, bool are_equalities, std::optional<LinearPiece>& piece) {
  bool fits = matrix != nullptr;
  for (int row = 0; fits && piece && row < isl_mat_rows(matrix); ++row) {
    std::optional<LinearForm> form = Row(matrix, row);
    std::optional<LinearPieces> where =
        form ? table.Where(*form, are_equalities) : std::optional<LinearPieces>();
    fits = where.has_value();
    if (fits) piece = where->empty() ? std::optional<LinearPiece>() : Meet(*piece, where->front());
  }
  isl_mat_free(matrix);
  return fits;
}

isl_stat ReadMatrices(isl_basic_set* set, void* user) {
  auto& reader = *static_cast<MatrixReader*>(user);
  reader.columns.clear();
  int count = static_cast<int>(isl_basic_set_dim(set, isl_dim_param));
  for (int i = 0; i < count; ++i) {
    auto at = static_cast<unsigned>(i);
    bool is_used = isl_basic_set_involves_dims(set, isl_dim_param, at, 1) == isl_bool_true;
    const char* name = isl_basic_set_get_dim_name(set, isl_dim_param, at);
    reader.columns.push_back(is_used ? std::optional(reader.table.Variable(name)) : std::nullopt);
  }
  std::optional<LinearPiece> piece(std::in_place);
  auto matrix_of = [&](auto* function) {
    return function(set, isl_dim_cst, isl_dim_param, isl_dim_set, isl_dim_div);
  };
  bool fits = isl_basic_set_dim(set, isl_dim_div) == 0 &&
              reader.Read(matrix_of(isl_basic_set_equalities_matrix), true, piece) &&
              reader.Read(matrix_of(isl_basic_set_inequalities_matrix), false, piece);
  isl_basic_set_free(set);
  if (fits && piece) reader.pieces.push_back(*std::move(piece));
  return fits ? isl_stat_ok : isl_stat_error;
}

}  // namespace

isl_set* MakeIslSet(isl_ctx* context, const LinearTable& table, const LinearPieces& pieces) {
  Columns columns = table.Variables(pieces);
  isl_set* set = isl_set_empty(SpaceOf(context, table, columns));
  for (const LinearPiece& piece : pieces)
    set = isl_set_union(set, MakeIslPiece(context, table, columns, piece));
  return set;
}

isl_pw_aff* MakeIslFunction(isl_ctx* context, const LinearTable& table, const LinearForm& form) {
  Columns columns;
  for (const auto& [variable, coefficient] : form.terms) columns.push_back(variable);
  isl_aff* function = isl_aff_zero_on_domain_space(SpaceOf(context, table, columns));
  function = isl_aff_set_constant_val(function, isl_val_int_from_si(context, form.constant));
  for (size_t i = 0; i < columns.size(); ++i) {
    isl_val* coefficient = isl_val_int_from_si(context, form.terms[i].second);
    function =
        isl_aff_set_coefficient_val(function, isl_dim_param, static_cast<int>(i), coefficient);
  }
  return isl_pw_aff_from_aff(function);
}

std::optional<LinearPieces> ReadIslSet(isl_set* set, LinearTable& table) {
  MatrixReader reader{table, {}};
  bool fits = isl_set_foreach_basic_set(set, ReadMatrices, &reader) == isl_stat_ok;
  return fits ? std::optional(std::move(reader.pieces)) : std::nullopt;
}

}  // namespace kdl::proofs
