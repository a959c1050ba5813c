#pragma once

#include <optional>

#include "proofs/linear.h"

struct isl_ctx;
struct isl_pw_aff;
struct isl_set;

namespace kdl::proofs {

// Converts sets and functions between their linear form and that of isl. Functions return null if isl fails.

isl_set* MakeIslSet(isl_ctx* context, const LinearTable& table, const LinearPieces& pieces);
isl_pw_aff* MakeIslFunction(isl_ctx* context, const LinearTable& table, const LinearForm& form);
/// Returns nothing if the set has quotients or numbers that do not fit.
std::optional<LinearPieces> ReadIslSet(isl_set* set, LinearTable& table);

}  // namespace kdl::proofs
