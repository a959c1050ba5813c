#pragma once

#include <algorithm>

namespace kdl::passes {

/// How far a number is from 0: at most most + times * (a product of numbers of a launch, as sizes are), on the sides that
/// are known.
struct Magnitude {
  bool below = false;
  bool above = false;
  double most = 0;   ///< of constants and data
  double times = 0;  ///< what stands beside sizes

  bool both() const { return below && above; }
  /// Sums of many such numbers are inside 64 bits.
  bool stays() const { return both() && most <= kMost && times <= kTimes; }

  static constexpr double kMost = 0x1p56;
  static constexpr double kTimes =
      0x1p20;  ///< a launch has less than 2^43 of anything (KDL_LARGEST_SIZE)
};

/// Of a number of a launch.
inline constexpr Magnitude kSizeMagnitude = {true, true, 0, 1};

/// The greater of what they say, on sides that `below` and `above` say.
inline Magnitude Widest(const Magnitude& a, const Magnitude& b, bool below, bool above) {
  return {below, above, std::max(a.most, b.most), std::max(a.times, b.times)};
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
  Magnitude sum = {a.both() && b.both(), a.both() && b.both(), a.most + b.most, a.times + b.times};
  return sum.stays() ? sum : Magnitude{};
}
inline Magnitude operator*(const Magnitude& a, const Magnitude& b) {
  Magnitude product = {a.both() && b.both(), a.both() && b.both(), a.most * b.most,
                       a.most * b.times + a.times * b.most + a.times * b.times};
  return product.stays() ? product : Magnitude{};
}

}  // namespace kdl::passes
