// Arguments for the tests of elementary functions; the same on every machine.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ulp.h"

namespace accuracy {

// Uniform numbers (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Bits();
  double Uniform(double low, double high);

 private:
  std::uint64_t state_;
};

// Numbers of the format where results change their kind, all exponents with many significands, dense
// intervals, the borders of argument reductions and their neighbours; of both signs.
std::vector<double> Arguments(const Format& format);

// Pairs for pow: special values with each other, results of every size, bases near 1.
std::vector<std::pair<double, double>> Powers(const Format& format);

}  // namespace accuracy
