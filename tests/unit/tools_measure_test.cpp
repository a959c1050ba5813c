// Tests the results that benchmarks compute from the times of their trials.
#include <doctest/doctest.h>

#include "tools/measure/trials.h"

using kdl::measure::Ceiling;
using kdl::measure::Median;
using kdl::measure::Spread;

TEST_CASE("the median and the spread of an even and an odd number of trials") {
  CHECK(Median({3, 1, 2}) == doctest::Approx(2));
  CHECK(Median({4, 1, 2, 3}) == doctest::Approx(2.5));
  CHECK(Spread({1, 2, 3, 4, 5}) == doctest::Approx(2.0 / 3));
}

TEST_CASE("a ceiling is the median of the trials' ratios") {
  // A trial with a disturbed limit does not affect the median.
  CHECK(Ceiling({2, 2, 2}, {1, 1, 9}).value() == doctest::Approx(0.5));
  CHECK(Ceiling({2, 2, 2}, {2.9, 2.9, 2.9}).value() == doctest::Approx(1.45));
}

TEST_CASE("a limit that the work far exceeds does not count") {
  CHECK_FALSE(Ceiling({2, 2, 2}, {3, 3, 3}).has_value());
  CHECK_FALSE(Ceiling({1, 1, 1, 1}, {0.1, 8, 8, 8}).has_value());
}
