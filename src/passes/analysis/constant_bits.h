#pragma once

#include <cstdint>
#include <optional>

#include "passes/analysis/terms.h"

namespace kdl::passes {

/// The bits of a scalar that is made of constants, and of sizes that are known; nothing where it is made of more, or has no
/// value.
std::optional<uint64_t> ConstantBits(const ir::Value* value, const Sizes& known = {});

}  // namespace kdl::passes
