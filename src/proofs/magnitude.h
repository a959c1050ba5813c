#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include "support/names.h"

namespace kdl::proofs {

/// A product of numbers of a launch, ascending, such as sizes are; the empty name is the number of cores.
using LaunchProduct = std::vector<Name>;

/// How far a number is from 0: at most most + times * (the greatest of some products of numbers of a launch), on the sides that
/// are known.
struct Magnitude {
  bool below = false;
  bool above = false;
  double most = 0;   ///< of constants and data
  double times = 0;  ///< what stands next to the products
  std::set<LaunchProduct> products{};

  bool both() const { return below && above; }
  /// It is inside 64 bits, and so are sums on the way to it: a number of a launch is below 2^43 (KDL_LARGEST_SIZE), and a
  /// product of several is checked to be at most kLargest / times (limit-sizes).
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

/// Of a number of a launch; the empty name is that of cores.
inline Magnitude MagnitudeOfLaunch(Name name) { return {true, true, 0, 1, {{name}}}; }

/// The greater of what they say, on sides that `below` and `above` say.
inline Magnitude Widest(const Magnitude& a, const Magnitude& b, bool below, bool above) {
  Magnitude widest{below, above, std::max(a.most, b.most), std::max(a.times, b.times), a.products};
  widest.products.insert(b.products.begin(), b.products.end());
  return widest;
}
/// Of either.
inline Magnitude OneOf(const Magnitude& a, const Magnitude& b) {
  return Widest(a, b, a.below && b.below, a.above && b.above);
}
/// From one on, up to the other.
inline Magnitude Between(const Magnitude& lo, const Magnitude& hi) {
  return Widest(lo, hi, lo.below, hi.above);
}
/// Of a number of which both are known.
inline Magnitude Joined(const Magnitude& a, const Magnitude& b) {
  return Widest(a, b, a.below || b.below, a.above || b.above);
}

/// Nothing is known of what may not stay.
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
