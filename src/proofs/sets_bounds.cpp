#include <isl/constraint.h>
#include <isl/id.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>

#include "proofs/sets.h"

// Reads the bounds of a variable from the constraints of a set.

namespace kdl::proofs {

namespace {

/// Reads the constraints of a piece that mentions only one of the wanted variables.
struct ConstraintReader {
  const std::string& variable;
  VariableBounds& bounds;
  std::vector<LinearSum>& conditions;
  bool fits = true;  ///< whether all coefficients fit in 64 bits
};

/// Returns the value as a number and frees it. Sets `fits` to false if it needs more than 32 bits, so that sums of
/// products with sizes cannot overflow unnoticed.
int64_t Number(isl_val* value, bool& fits) {
  constexpr long kMost = 1L << 31;
  fits = fits && isl_val_cmp_si(value, kMost) < 0 && isl_val_cmp_si(value, -kMost) > 0;
  int64_t number = fits ? isl_val_get_num_si(value) : 0;
  isl_val_free(value);
  return number;
}

LinearSum Scaled(const LinearSum& sum, int64_t factor) {
  LinearSum scaled{{}, factor * sum.constant};
  for (const auto& [name, coefficient] : sum.terms) scaled.terms[name] = factor * coefficient;
  return scaled;
}

/// Adds the constraint factor * variable + sum >= 0.
void Add(ConstraintReader& reader, int64_t factor, const LinearSum& sum) {
  if (factor > 0) {
    reader.bounds.least.push_back({Scaled(sum, -1), factor});
  } else if (factor < 0) {
    reader.bounds.most.push_back({sum, -factor});
  } else if (std::ranges::find(reader.conditions, sum) == reader.conditions.end()) {
    reader.conditions.push_back(sum);
  }
}

isl_stat ReadConstraint(isl_constraint* constraint, void* user) {
  auto& reader = *static_cast<ConstraintReader*>(user);
  LinearSum sum{{}, Number(isl_constraint_get_constant_val(constraint), reader.fits)};
  int64_t factor = 0;
  int count = static_cast<int>(isl_constraint_dim(constraint, isl_dim_param));
  for (int i = 0; i < count; ++i) {
    int64_t coefficient =
        Number(isl_constraint_get_coefficient_val(constraint, isl_dim_param, i), reader.fits);
    const char* name =
        isl_constraint_get_dim_name(constraint, isl_dim_param, static_cast<unsigned>(i));
    if (coefficient == 0) continue;
    if (name == reader.variable) {
      factor = coefficient;
    } else {
      sum.terms[name] = coefficient;
    }
  }
  Add(reader, factor, sum);
  if (isl_constraint_is_equality(constraint) == isl_bool_true)
    Add(reader, -factor, Scaled(sum, -1));
  isl_constraint_free(constraint);
  return isl_stat_ok;
}

struct PieceReader {
  const std::vector<std::string>& variables;
  std::vector<PieceBounds> pieces;
  bool fits = true;
};

/// Returns the position of a variable among those of the piece, or -1.
int PositionOf(isl_basic_set* piece, const std::string& variable) {
  int count = static_cast<int>(isl_basic_set_dim(piece, isl_dim_param));
  for (int at = 0; at < count; ++at) {
    const char* name = isl_basic_set_get_dim_name(piece, isl_dim_param, static_cast<unsigned>(at));
    if (name == variable) return at;
  }
  return -1;
}

/// Returns the piece without all variables in `variables` but one, and without quotients. Frees the argument.
isl_basic_set* Projection(isl_basic_set* piece, const std::vector<std::string>& variables,
                          const std::string& kept) {
  for (const std::string& variable : variables) {
    if (variable == kept) continue;
    int at = PositionOf(piece, variable);
    if (at >= 0)
      piece = isl_basic_set_project_out(piece, isl_dim_param, static_cast<unsigned>(at), 1);
  }
  return isl_basic_set_remove_divs(piece);
}

struct BoxTest {
  const std::vector<std::string>& variables;
  bool is_box = true;
};

/// Notes whether the constraint mentions two of the variables.
isl_stat TestConstraint(isl_constraint* constraint, void* user) {
  auto& test = *static_cast<BoxTest*>(user);
  int mentioned = 0;
  int count = static_cast<int>(isl_constraint_dim(constraint, isl_dim_param));
  for (int i = 0; i < count; ++i) {
    auto at = static_cast<unsigned>(i);
    const char* name = isl_constraint_get_dim_name(constraint, isl_dim_param, at);
    bool uses = isl_constraint_involves_dims(constraint, isl_dim_param, at, 1) == isl_bool_true;
    if (uses && std::ranges::find(test.variables, name) != test.variables.end()) ++mentioned;
  }
  test.is_box = test.is_box && mentioned < 2;
  isl_constraint_free(constraint);
  return isl_stat_ok;
}

isl_stat ReadPiece(isl_basic_set* piece, void* user) {
  auto& reader = *static_cast<PieceReader*>(user);
  PieceBounds& bounds = reader.pieces.emplace_back();
  BoxTest test{reader.variables};
  isl_stat read = isl_basic_set_foreach_constraint(piece, TestConstraint, &test);
  bounds.is_box = test.is_box;
  for (const std::string& variable : reader.variables) {
    isl_basic_set* shadow = Projection(isl_basic_set_copy(piece), reader.variables, variable);
    std::vector<LinearSum> conditions;
    ConstraintReader constraints{variable, bounds.variables.emplace_back(), conditions};
    if (isl_basic_set_foreach_constraint(shadow, ReadConstraint, &constraints) != isl_stat_ok)
      read = isl_stat_error;
    reader.fits = reader.fits && constraints.fits;
    isl_basic_set_free(shadow);
    // The other conditions only say that another variable has a value.
    if (bounds.variables.size() == 1) bounds.conditions = conditions;
    std::erase_if(bounds.conditions, [&](const LinearSum& one) {
      return std::ranges::find(conditions, one) == conditions.end();
    });
  }
  isl_basic_set_free(piece);
  return read;
}

}  // namespace

std::optional<std::vector<PieceBounds>> PointSet::BoundsOf(
    const std::vector<std::string>& variables) const {
  if (!known() || !MaySpend()) return std::nullopt;
  PieceReader reader{variables, {}};
  bool read = isl_set_foreach_basic_set(get(), ReadPiece, &reader) == isl_stat_ok;
  return read && reader.fits ? std::optional(std::move(reader.pieces)) : std::nullopt;
}

}  // namespace kdl::proofs
