#pragma once

#include <cstdint>

namespace kdl {

/// Returns whether the number is between -limit and limit, which is at least 0. Unlike std::abs, this is also
/// defined for the least number, whose absolute value does not fit in int64_t.
constexpr bool IsWithin(int64_t number, int64_t limit) {
  return -limit <= number && number <= limit;
}

}  // namespace kdl
