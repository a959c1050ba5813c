#pragma once

#include <optional>
#include <string_view>

#include "sema/checked.h"

namespace kdl::sema {

/// A reduction or scan by a name of the language.
std::optional<ReduceKind> FindReduction(std::string_view spelling);

}  // namespace kdl::sema
