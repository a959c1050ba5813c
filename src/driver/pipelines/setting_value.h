#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "support/result.h"

namespace kdl::driver {

/// Returns the value of the variable with this name, or nothing if there is none.
using Variables = std::function<std::optional<int64_t>(std::string_view name)>;

/// Computes the value of an option in a pipeline file: a number or a variable `$NAME`, or two of them joined
/// by `*` or `/`. Divisions round down.
Result<int64_t> SettingValue(std::string_view text, const Variables& variables);

}  // namespace kdl::driver
