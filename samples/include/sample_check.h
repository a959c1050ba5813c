// Shared by the samples' C++ callers: bf16 numbers, random inputs, and a comparison with a float64 reference.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

namespace sample {

// A bfloat16, stored as its bits: the upper half of a float.
struct Bf16 {
  std::uint16_t bits = 0;
  Bf16() = default;
  // Rounds to nearest, ties to even. `value` must be finite. All numbers that the samples use are finite.
  explicit Bf16(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    bits = static_cast<std::uint16_t>((wide + 0x7FFF + (wide >> 16 & 1)) >> 16);
  }
  explicit operator double() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

// Returns `count` random numbers in -1..1.
template <class T>
std::vector<T> Draw(std::size_t count, unsigned seed) {
  std::minstd_rand random(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  std::vector<T> values(count);
  for (T& value : values) value = T(draw(random));
  return values;
}

// Returns the largest |c - (a b + res)|, relative to the error that the language allows in an f32 sum of k
// products: 4 eps |reference| + max(4, sqrt(k)) eps (sum |a b| + |res|). If the result is at most 1, every
// element is correct.
inline double WorstError(const std::vector<Bf16>& a, const std::vector<Bf16>& b,
                         const std::vector<float>& res, const std::vector<float>& c,
                         std::size_t k_size, std::size_t n_size) {
  constexpr double kEps = 0x1p-24;
  const double growth = std::fmax(4, std::sqrt(static_cast<double>(k_size)));
  double worst = 0;
  std::vector<double> sums(n_size);
  std::vector<double> sizes(n_size);
  for (std::size_t i = 0; i < c.size() / n_size; ++i) {
    for (std::size_t j = 0; j < n_size; ++j) {
      sums[j] = res[i * n_size + j];
      sizes[j] = std::fabs(sums[j]);
    }
    for (std::size_t k = 0; k < k_size; ++k) {
      const auto x = static_cast<double>(a[i * k_size + k]);
      for (std::size_t j = 0; j < n_size; ++j) {
        const double product = x * static_cast<double>(b[k * n_size + j]);
        sums[j] += product;
        sizes[j] += std::fabs(product);
      }
    }
    for (std::size_t j = 0; j < n_size; ++j) {
      const double allowed = 4 * kEps * std::fabs(sums[j]) + growth * kEps * sizes[j];
      worst = std::fmax(worst, std::fabs(c[i * n_size + j] - sums[j]) / allowed);
    }
  }
  return worst;
}

}  // namespace sample
