#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include "support/names.h"

namespace kdl::proofs {

/// A product of numbers of a launch, such as sizes, in sorted order. The empty name stands for the number of
/// cores.
using LaunchProduct = std::vector<Name>;

/// An upper bound on the absolute value of a number: most + times * (the largest of some products of numbers
/// of a launch). It bounds negative values if `below` is true, and positive values if `above` is true.
struct Magnitude {
  bool below = false;
  bool above = false;
  double most = 0;   ///< the part from constants and data
  double times = 0;  ///< the factor of the products
  std::set<LaunchProduct> products{};

  bool both() const { return below && above; }
  /// Whether the number and all intermediate sums fit in 64 bits. A number of a launch is below 2^43
  /// (KDL_LARGEST_SIZE), and limit-sizes checks that products of several such numbers are at most kLargest /
  /// times.
  bool stays() const {
    bool few = products.size() <= kProducts &&
               std::ranges::all_of(products, [](const auto& p) { return p.size() <= kFactors; });
    return both() && most <= kMost && times <= kTimes && few;
  }

  static constexpr double kMost = 0x1p56;
  static constexpr double kTimes = 0x1p19;
  static constexpr double kLargest = 0x1p62;
  static constexpr size_t kProducts = 16;
  static constexpr size_t kFactors = 7;
};

/// The magnitude of a number of a launch; the empty name stands for the number of cores.
inline Magnitude MagnitudeOfLaunch(Name name) { return {true, true, 0, 1, {{name}}}; }

/// Returns a magnitude with the larger numbers of both magnitudes, and the given `below` and `above`.
inline Magnitude Widest(const Magnitude& a, const Magnitude& b, bool below, bool above) {
  Magnitude widest{below, above, std::max(a.most, b.most), std::max(a.times, b.times), a.products};
  widest.products.insert(b.products.begin(), b.products.end());
  return widest;
}
/// The magnitude of a number that is one of two numbers with these magnitudes.
inline Magnitude OneOf(const Magnitude& a, const Magnitude& b) {
  return Widest(a, b, a.below && b.below, a.above && b.above);
}
/// The magnitude of a number that is between two numbers with these magnitudes.
inline Magnitude Between(const Magnitude& lo, const Magnitude& hi) {
  return Widest(lo, hi, lo.below, hi.above);
}
/// The magnitude of a number that both magnitudes bound.
inline Magnitude Joined(const Magnitude& a, const Magnitude& b) {
  return Widest(a, b, a.below || b.below, a.above || b.above);
}

/// The magnitude of the sum of two numbers; unknown if the sum may not fit in 64 bits.
inline Magnitude operator+(const Magnitude& a, const Magnitude& b) {
  bool known = a.both() && b.both();
  Magnitude sum = Widest(a, b, known, known);
  sum.most = a.most + b.most;
  sum.times = a.times + b.times;
  return sum.stays() ? sum : Magnitude{};
}
inline Magnitude operator*(const Magnitude& a, const Magnitude& b) {
  if (!a.both() || !b.both()) return {};
  Magnitude product{true, true, a.most * b.most,
                    a.most * b.times + a.times * b.most + a.times * b.times};
  if (b.most > 0) product.products.insert(a.products.begin(), a.products.end());
  if (a.most > 0) product.products.insert(b.products.begin(), b.products.end());
  for (const LaunchProduct& of_a : a.products) {
    for (const LaunchProduct& of_b : b.products) {
      LaunchProduct both = of_a;
      both.insert(both.end(), of_b.begin(), of_b.end());
      std::sort(both.begin(), both.end());
      product.products.insert(std::move(both));
    }
  }
  return product.stays() ? product : Magnitude{};
}

}  // namespace kdl::proofs
