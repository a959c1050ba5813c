#pragma once

#include <cstdint>
#include <optional>

namespace kdl::cpu {

/// Describes a value that grows by `advance` whenever an index grows by `points`, wherever the index is. For example,
/// `%j / 2 + 3 * (%j % 4)` grows by 2 every 4 points. A value that does not vary has the default.
struct Period {
  int64_t points = 1;
  int64_t advance = 0;
};

/// Returns the period of a value with period `a` plus `factor` times a value with period `b`. All functions return
/// nothing if a number is too large to be useful.
std::optional<Period> SumOf(const Period& a, const Period& b, int64_t factor);
/// Returns the period of a value divided by a constant, or of the remainder. Returns nothing unless the constant is a
/// small power of two, by which also the quotients and remainders of sums that wrap around have a period.
std::optional<Period> QuotientOf(const Period& value, int64_t divisor);
std::optional<Period> RemainderOf(const Period& value, int64_t divisor);

}  // namespace kdl::cpu
