#pragma once

#include <optional>
#include <string_view>

#include "sema/checked.h"

namespace kdl::sema {

std::optional<ReduceKind> FindReduction(std::string_view spelling);

/// Reductions and scans of the language that are not built yet.
bool IsLaterReduction(std::string_view spelling);

}  // namespace kdl::sema
