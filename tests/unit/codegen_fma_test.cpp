#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "codegen_run.h"

// Tests FMAs on processors that have no such instruction. One rounding and two roundings differ in these
// cases: sums that nearly cancel, that are subnormal or overflow, or that are at or next to the midpoint of
// two numbers.

namespace kdl::codegen {

namespace {

/// Returns a kernel that processes `lanes` elements per iteration.
std::string KernelText(const char* type, int lanes) {
  std::string tensors;
  for (const char* name : {"x", "y", "z"})
    tensors += fmt::format("%{}: tensor<{},[N]> in, ", name, type);
  std::string value = lanes == 1 ? type : fmt::format("vec<{} x {}>", type, lanes);
  return fmt::format(
      "kernel @fma_{0} dims(%N) ({1}%r: tensor<{0},[N]> out) {{\n  %0 = const 0 : i64\n"
      "  %1 = const {2} : i64\n  loop %n in %0 .. %N step %1 {{\n"
      "    %a = load %x[%n] {{bounds = proven}} : {3}\n    %b = load %y[%n] {{bounds = proven}} : "
      "{3}\n"
      "    %c = load %z[%n] {{bounds = proven}} : {3}\n    %s = fma %a, %b, %c : {3}\n"
      "    store %s to %r[%n] {{bounds = proven}}\n    yield\n  }}\n  return\n}}\n",
      type, tensors, lanes, value);
}

template <class T>
struct Format;
template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr int digits = 24;
  static constexpr int least = -149;    ///< exponent of the smallest subnormal number
  static constexpr int greatest = 127;  ///< exponent of the greatest number
  static constexpr const char* type = "f32";
};
template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr int digits = 53;
  static constexpr int least = -1074;
  static constexpr int greatest = 1023;
  static constexpr const char* type = "f64";
};

template <class T>
struct Triple {
  T x, y, z;
};

/// Generates two factors and a summand. The factors have few or all significant digits, or are next to a
/// power of two, and their product is in a given range. The summand is near the product, near half an ulp of
/// the product, or near the product's last digit. Some operands are zero, infinite or NaN.
template <class T>
class Draw {
 public:
  Triple<T> Next() {
    constexpr int digits = Format<T>::digits;
    constexpr int greatest = Format<T>::greatest;
    int power =
        Pick({0, Format<T>::least + digits, Format<T>::least + 2, Format<T>::least - 2,
              -Format<T>::least - digits, greatest - 1, greatest / 8 * 7, -greatest / 8 * 7});
    int of_x = Between(power / 2 - 30, power / 2 + 30);
    if (Between(0, 9) == 0) of_x = Between(-greatest, greatest);
    T x = std::ldexp(Mantissa(), of_x);
    T y = std::ldexp(Mantissa(), power - of_x + Between(-3, 3));
    T z = std::ldexp(Mantissa(), power + Pick({0, 1, -1, digits, -digits, digits - 1, -digits - 1,
                                               2 * digits, Between(-3 * digits, 3 * digits)}));
    if (Between(0, 3) == 0) z = Nudged(-x * y);
    return {Special(Signed(x)), Special(Signed(y)), Special(Signed(z))};
  }

 private:
  int Between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  int Pick(std::vector<int> of) {
    return of[static_cast<size_t>(Between(0, static_cast<int>(of.size()) - 1))];
  }
  /// Returns the value, or rarely a zero, an infinity or NaN.
  T Special(T value) {
    if (Between(0, 49) != 0) return value;
    constexpr T infinity = std::numeric_limits<T>::infinity();
    return std::copysign(Between(0, 1) == 0 ? T{0}
                         : value > 0        ? infinity
                                            : infinity - infinity,
                         value);
  }
  T Signed(T value) { return Between(0, 1) == 0 ? value : -value; }
  T Nudged(T value) {
    using Bits = typename Format<T>::Bits;
    return std::bit_cast<T>(
        static_cast<Bits>(std::bit_cast<Bits>(value) + static_cast<Bits>(Between(-2, 2))));
  }
  /// Returns a number in [1, 2].
  T Mantissa() {
    int kept = Pick({1, 2, Format<T>::digits / 2, Format<T>::digits, Format<T>::digits});
    T value = T{1} + static_cast<T>(std::ldexp(static_cast<T>(random_() >> 11), -53));
    value = std::ldexp(std::floor(std::ldexp(value, kept - 1)), 1 - kept);
    return Between(0, 4) == 0 ? Nudged(value) : value;
  }

  std::mt19937_64 random_{11};
};

template <class T>
void Compare(int opt_level, int lanes) {
  constexpr int64_t kCount = 200'000;
  std::vector<T> x, y, z;
  Draw<T> draw;
  for (int64_t n = 0; n < kCount; ++n) {
    Triple<T> drawn = draw.Next();
    x.push_back(drawn.x);
    y.push_back(drawn.y);
    z.push_back(drawn.z);
  }
  std::vector<T> result(static_cast<size_t>(kCount));
  LoadedModule module(KernelText(Format<T>::type, lanes), opt_level, OldProcessor());
  Call call;
  call.dims = {kCount};
  for (std::vector<T>* values : {&x, &y, &z, &result})
    call.tensors.push_back(TensorOf(values->data(), {kCount}));
  REQUIRE(module.LaunchKernel(fmt::format("fma_{}", Format<T>::type), call).code == 0);
  int wrong = 0;
  int matters = 0;
  for (size_t n = 0; n < result.size() && wrong < 5; ++n) {
    using Bits = typename Format<T>::Bits;
    T expected = std::fma(x[n], y[n], z[n]);
    T product = x[n] * y[n];
    T twice_rounded = product + z[n];
    matters += std::bit_cast<Bits>(twice_rounded) != std::bit_cast<Bits>(expected) ? 1 : 0;
    if (std::bit_cast<Bits>(result[n]) == std::bit_cast<Bits>(expected)) continue;
    if (std::isnan(result[n]) && std::isnan(expected)) continue;
    MESSAGE(fmt::format("{:a} * {:a} + {:a}: {:a}, expected {:a}", x[n], y[n], z[n], result[n],
                        expected));
    ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(matters > kCount / 20);
}

}  // namespace

TEST_CASE("an fma computed with other instructions rounds once") {
  for (int opt_level : {0, 3}) {
    for (int lanes : {1, 2, 4, 16}) {
      CAPTURE(opt_level);
      CAPTURE(lanes);
      Compare<float>(opt_level, lanes);
      Compare<double>(opt_level, lanes);
    }
  }
}

}  // namespace kdl::codegen
