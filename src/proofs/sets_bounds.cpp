#include <isl/constraint.h>
#include <isl/id.h>
#include <isl/set.h>
#include <isl/val.h>

#include "proofs/sets.h"

// Reads the bounds of a variable from the constraints of a set.

namespace kdl::proofs {

namespace {

struct ConstraintReader {
  std::string variable;
  PieceBounds* piece;
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
void Add(PieceBounds& piece, int64_t factor, const LinearSum& sum) {
  if (factor > 0) {
    piece.least.push_back({Scaled(sum, -1), factor});
  } else if (factor < 0) {
    piece.most.push_back({sum, -factor});
  } else {
    piece.conditions.push_back(sum);
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
  Add(*reader.piece, factor, sum);
  if (isl_constraint_is_equality(constraint) == isl_bool_true)
    Add(*reader.piece, -factor, Scaled(sum, -1));
  isl_constraint_free(constraint);
  return isl_stat_ok;
}

struct PieceReader {
  std::string variable;
  std::vector<PieceBounds> pieces;
  bool fits = true;
};

isl_stat ReadPiece(isl_basic_set* piece, void* user) {
  auto& reader = *static_cast<PieceReader*>(user);
  reader.pieces.emplace_back();
  ConstraintReader constraints{reader.variable, &reader.pieces.back()};
  isl_basic_set_foreach_constraint(piece, ReadConstraint, &constraints);
  reader.fits = reader.fits && constraints.fits;
  isl_basic_set_free(piece);
  return isl_stat_ok;
}

}  // namespace

std::optional<std::vector<PieceBounds>> PointSet::BoundsOf(const std::string& variable) const {
  if (!known() || !MaySpend()) return std::nullopt;
  isl_set* set = isl_set_remove_divs(isl_set_copy(set_.get()));
  PieceReader reader{variable, {}};
  bool read = set && isl_set_foreach_basic_set(set, ReadPiece, &reader) == isl_stat_ok;
  isl_set_free(set);
  return read && reader.fits ? std::optional(std::move(reader.pieces)) : std::nullopt;
}

}  // namespace kdl::proofs
