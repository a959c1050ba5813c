#pragma once

#include <string>

#include "passes/analysis/terms.h"

namespace kdl::passes {

/// `2*N - 1`, in the names of the source.
std::string ToText(const Poly& poly, const Terms& terms);

}  // namespace kdl::passes
