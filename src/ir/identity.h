#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/module.h"

namespace kdl::ir {

/// The generic of a program with checkpoints or ranks whose value identifies what the program computes. `program` is a keyword, so no
/// integer parameter has this name.
inline constexpr std::string_view kIdentity = "program";

/// Returns this value, or nothing if the program has none.
std::optional<uint64_t> FindIdentity(const Function& program);

}  // namespace kdl::ir
