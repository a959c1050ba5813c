#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "passes/names.h"

namespace kdl::passes {

/// The elements of the table of integers that a value has been loaded from; nothing where it has another source, or may be
/// what an `else` gives.
std::optional<std::vector<int64_t>> TableValues(const ir::Value* value);

}  // namespace kdl::passes
