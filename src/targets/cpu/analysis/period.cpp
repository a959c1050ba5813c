#include "targets/cpu/analysis/period.h"

#include <bit>
#include <numeric>

namespace kdl::cpu {

namespace {

bool IsUsefulNumber(int64_t number) {
  constexpr int64_t kMost = 64;
  return -kMost <= number && number <= kMost;
}

bool IsPowerOfTwo(int64_t number) {
  return number > 0 && std::has_single_bit(static_cast<uint64_t>(number));
}

/// Returns the period, or nothing if it is too long to be useful.
std::optional<Period> ShortPeriod(int64_t points, int64_t advance) {
  if (!IsUsefulNumber(points) || !IsUsefulNumber(advance)) return std::nullopt;
  return Period{points, advance};
}

}  // namespace

std::optional<Period> SumOf(const Period& a, const Period& b, int64_t factor) {
  if (!IsUsefulNumber(factor)) return std::nullopt;
  int64_t points = std::lcm(a.points, b.points);
  return ShortPeriod(points,
                     points / a.points * a.advance + points / b.points * factor * b.advance);
}

std::optional<Period> QuotientOf(const Period& value, int64_t divisor) {
  if (!IsPowerOfTwo(divisor) || !IsUsefulNumber(divisor)) return std::nullopt;
  int64_t times = divisor / std::gcd(divisor, value.advance);
  return ShortPeriod(value.points * times, value.advance * times / divisor);
}

std::optional<Period> RemainderOf(const Period& value, int64_t divisor) {
  if (!IsPowerOfTwo(divisor) || !IsUsefulNumber(divisor)) return std::nullopt;
  return ShortPeriod(value.points * (divisor / std::gcd(divisor, value.advance)), 0);
}

}  // namespace kdl::cpu
