#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kdl::interp {

/// The values that a Locator reports.
enum class Located : uint8_t {
  NotFinite,  ///< a value that becomes NaN or infinite
  Errors,     ///< also a value that differs from what f64 gives by more than rounding explains
};

/// Reads `errors` or `not-finite`.
std::optional<Located> ParseLocated(std::string_view text);

}  // namespace kdl::interp
