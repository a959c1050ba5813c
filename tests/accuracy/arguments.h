// Arguments for the tests of elementary functions. They are the same on every machine.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ulp.h"

namespace accuracy {

// Uniform random numbers (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Bits();
  double Uniform(double low, double high);

 private:
  std::uint64_t state_;
};

// Returns numbers of the format, of both signs: thresholds at which a result overflows, underflows or is
// computed in another way, numbers with every exponent and many significands, dense intervals, and the limits
// of argument reductions with their neighbours.
std::vector<double> Arguments(const Format& format);

// Returns pairs for pow: combinations of special values, pairs with results of every magnitude, and bases
// near 1.
std::vector<std::pair<double, double>> Powers(const Format& format);

}  // namespace accuracy
