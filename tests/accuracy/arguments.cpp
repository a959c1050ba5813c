#include "arguments.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

namespace accuracy {

namespace {

double Rounded(double value, const Format& format) {
  return format.digits == 53 ? value : static_cast<double>(static_cast<float>(value));
}

double Next(double value, double to, const Format& format) {
  if (format.digits == 53) return std::nextafter(value, to);
  return std::nextafter(static_cast<float>(value), static_cast<float>(to));
}

void AddWithNeighbours(std::vector<double>& list, double value, int count, const Format& format) {
  double below = Rounded(value, format);
  double above = below;
  list.push_back(below);
  for (int i = 0; i < count; ++i) {
    list.push_back(below = Next(below, -INFINITY, format));
    list.push_back(above = Next(above, INFINITY, format));
  }
}

std::vector<double> Special(const Format& format) {
  const double most = std::ldexp(1.0, format.exponent);
  const double largest = Next(most, 0, format);
  const double smallest = std::ldexp(1.0, format.least_ulp());
  return {0,
          1,
          2,
          3,
          0.5,
          1.5,
          std::numbers::e,
          std::sqrt(0.5),
          std::sqrt(2.0),
          std::numbers::pi,
          format.least,
          smallest,
          largest,
          INFINITY,
          NAN};
}

// Returns arguments at which functions overflow, underflow, become 1 or switch to another formula.
std::vector<double> Thresholds(const Format& format) {
  const double digits = format.digits;
  const double ln2 = std::numbers::ln2;
  std::vector<double> list = {0.25, 0.5,  0.6,  0.75, 4,   6,      8,
                              10,   17.4, 37.5, 1e5,  1e8, 2.4e-4, 1e-8};
  for (double power :
       {format.exponent + 0.0, 2.0 - format.exponent, 3 - format.exponent - digits}) {
    for (double less : {0.0, 0.5, 1.0})
      list.insert(list.end(), {power - less, (power - less) * ln2});
  }
  for (double power : {digits, digits + 1, digits + 2, digits / 2, digits / 3}) {
    list.insert(list.end(), {power * ln2, power * ln2 / 2, std::exp2(-power), std::exp2(power)});
  }
  return list;
}

// For every exponent e, adds numbers x = m * 2^e that are close to multiples of pi / 2. The values m come
// from the convergents of 2^e / (pi / 2).
void AddNearQuarterTurns(std::vector<double>& list, const Format& format) {
  mpfr_t ratio, whole;
  mpfr_inits2(2400, ratio, whole, mpfr_ptr{});
  const double limit = std::ldexp(1.0, format.digits);
  for (int e = -format.digits; e <= format.exponent - format.digits; ++e) {
    mpfr_const_pi(ratio, MPFR_RNDN);
    mpfr_ui_div(ratio, 2, ratio, MPFR_RNDN);
    mpfr_mul_2si(ratio, ratio, e, MPFR_RNDN);
    // `denominator` is the q of a convergent p / q, so q 2^e is close to p quarter turns.
    double last = 0;
    double denominator = 1;
    while (denominator < limit) {
      list.push_back(std::ldexp(denominator, e));
      mpfr_floor(whole, ratio);
      mpfr_sub(ratio, ratio, whole, MPFR_RNDN);
      mpfr_ui_div(ratio, 1, ratio, MPFR_RNDN);
      mpfr_floor(whole, ratio);
      const double term = mpfr_get_d(whole, MPFR_RNDN);
      const double next = term * denominator + last;
      last = denominator;
      denominator = next;
    }
  }
  mpfr_clears(ratio, whole, mpfr_ptr{});
}

}  // namespace

std::uint64_t Random::Bits() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

double Random::Uniform(double low, double high) {
  return low + (high - low) * (static_cast<double>(Bits() >> 11) * 0x1p-53);
}

std::vector<double> Arguments(const Format& format) {
  Random random(7);
  std::vector<double> list;
  for (double value : Special(format)) AddWithNeighbours(list, value, 20, format);
  for (double value : Thresholds(format)) AddWithNeighbours(list, value, 20, format);
  for (double limit : {0.01, 0.5, 1.0, 3.0, 10.0, 100.0, 800.0, 1e5}) {
    for (int i = 0; i < 2000; ++i) list.push_back(random.Uniform(0, limit));
  }
  for (int e = format.least_ulp(); e < format.exponent; ++e) {
    AddWithNeighbours(list, std::ldexp(1.0, e), 1, format);
    AddWithNeighbours(list, std::ldexp(std::sqrt(2.0), e), 1, format);
    for (int i = 0; i < 12; ++i) list.push_back(std::ldexp(random.Uniform(1, 2), e));
  }
  // Adds arguments whose results are 2^(n + 1/2) or 2^n, and their neighbours.
  for (int n = 0; n < format.exponent + format.digits; ++n) {
    AddWithNeighbours(list, n + 0.5, 1, format);
    AddWithNeighbours(list, (n + 0.5) * std::numbers::ln2, 1, format);
    AddWithNeighbours(list, n * std::numbers::ln2, 1, format);
  }
  for (int n = 1; n < 3000; ++n) AddWithNeighbours(list, n * std::numbers::pi / 4, 1, format);
  AddNearQuarterTurns(list, format);
  for (double& value : list) value = Rounded(value, format);
  const std::size_t count = list.size();
  for (std::size_t i = 0; i < count; ++i) list.push_back(-list[i]);
  return list;
}

std::vector<std::pair<double, double>> Powers(const Format& format) {
  Random random(8);
  std::vector<double> special;
  for (double value : Special(format)) AddWithNeighbours(special, value, 1, format);
  std::vector<std::pair<double, double>> list;
  for (double x : special) {
    for (double y : special) list.insert(list.end(), {{x, y}, {-x, y}, {x, -y}, {-x, -y}});
  }
  const double lowest = format.least_ulp();
  const double highest = format.exponent;
  for (int i = 0; i < 60000; ++i) {
    double x = std::exp2(random.Uniform(lowest, highest));
    if (i % 3 == 1) x = random.Uniform(0, 10);
    if (i % 3 == 2) x = 1 + random.Uniform(-1, 1) * std::exp2(random.Uniform(-format.digits, 0));
    x = Rounded(x, format);
    // `to` is the exponent of the result 2^to, which may be slightly beyond the range of the format.
    const double to = random.Uniform(lowest - 3, highest + 3);
    const double y = Rounded(to / std::log2(x), format);
    list.emplace_back(x, y);
    list.emplace_back(i % 2 == 0 ? x : -x, std::round(y));
    if (i % 8 == 0) list.emplace_back(x, Rounded(random.Uniform(-20, 20), format));
    if (i % 8 == 1) list.emplace_back(std::round(x), i % 64 * 0.5);
  }
  // Adds pairs of numbers of every magnitude. Half of the quotients have every magnitude; the others
  // are around 1/2, 1 and 2.
  for (int i = 0; i < 20000; ++i) {
    const double x = std::exp2(random.Uniform(lowest, highest));
    const double to = i % 2 == 0 ? random.Uniform(-4, 4) : random.Uniform(lowest, highest);
    const double y = x * std::exp2(to);
    list.emplace_back(y, i % 4 < 2 ? x : -x);
  }
  // Adds pairs whose results are near the smallest normal number or near the largest number.
  for (int i = 0; i < 4000; ++i) {
    const double x = Rounded(random.Uniform(0, 1000), format);
    const double to = i % 2 == 0 ? highest : 3 - highest - i % 4 / 2;
    AddWithNeighbours(special, to / std::log2(x), 2, format);
    for (int n = 1; n <= 5; ++n) list.emplace_back(x, special[special.size() - n]);
  }
  for (auto& [x, y] : list) {
    x = Rounded(x, format);
    y = Rounded(y, format);
  }
  return list;
}

}  // namespace accuracy
