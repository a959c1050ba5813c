#pragma once

#include <vector>

#include "proofs/accesses.h"

namespace kdl::proofs {

/// If the index of a dimension is a sum of values, each with the factor 1 and without a constant, returns these values.
/// Otherwise, or if there are many, the result is empty. The sum may be computed before the access, as in `let i = begin + r; x[i]`.
std::vector<const ir::Value*> SummandsOf(const AccessView& view, const ir::AccessDim& dim);

}  // namespace kdl::proofs
