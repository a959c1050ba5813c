// Exact results, computed from the operands in f64 or in integers. They show which of two different results
// is wrong.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "array.h"
#include "case.h"

namespace bench {

// Returns an element of the result, given its position in the array.
using Exact = std::function<double(std::int64_t)>;

struct Tolerance {
  double absolute = 0;
  double relative = 0;

  // Returns whether the value is within the tolerance. This is false for NaN.
  bool Allows(double value, double right) const {
    return std::abs(value - right) <= absolute + relative * std::abs(right);
  }
};

inline std::string OffText(std::int64_t element, double value, double right) {
  return "element " + std::to_string(element) + " is " + std::to_string(value) + ", should be " +
         std::to_string(right);
}

// Compares about a thousand of our elements with the exact elements, and also every element in which the two
// results differ.
template <class T>
Verdict Judge(const Array<T>& ours, const Array<T>& theirs, Tolerance tolerance,
              const Exact& exact) {
  // The stride is odd, so that the compared elements are in different columns.
  const std::int64_t stride = ours.count() / 1000 | 1;
  Verdict verdict;
  for (std::int64_t i = 0; i < ours.count(); ++i) {
    const double value = ToDouble(ours[i]);
    const double peers = ToDouble(theirs[i]);
    if (i % stride != 0 && tolerance.Allows(value, peers)) continue;
    const double right = exact(i);
    if (!tolerance.Allows(value, right)) return {OffText(i, value, right), ""};
    if (verdict.inexact.empty() && !tolerance.Allows(peers, right))
      verdict.inexact = OffText(i, peers, right);
  }
  return verdict;
}

// A matrix indexed by row and column, in any storage order.
template <class T>
struct Matrix {
  Array<T> array;
  bool transposed = false;

  double operator()(std::int64_t row, std::int64_t column) const {
    return ToDouble(
        array[transposed ? column * array.sizes()[1] + row : row * array.sizes()[1] + column]);
  }
};

// Returns c[i, j] = sum of a[i, k] * b[k, j], where b has `columns` columns.
template <class A, class B>
Exact ExactProduct(const Matrix<A>& a, const Matrix<B>& b, std::int64_t depth,
                   std::int64_t columns) {
  return [=](std::int64_t element) {
    double sum = 0;
    for (std::int64_t k = 0; k < depth; ++k)
      sum += a(element / columns, k) * b(k, element % columns);
    return sum;
  };
}

// Like ExactProduct, but for integers. Computes all elements at once, because a peer may be wrong in most of
// them.
template <class A, class B>
Exact ExactIntegers(const Array<A>& a, const Array<B>& b) {
  const std::int64_t depth = b.sizes()[0];
  const std::int64_t columns = b.sizes()[1];
  auto sums = std::make_shared<std::vector<std::int64_t>>(a.sizes()[0] * columns);
  for (std::int64_t at = 0; at < a.count(); ++at) {
    const std::int64_t factor = a[at];
    const B* row = b.data() + at % depth * columns;
    std::int64_t* to = sums->data() + at / depth * columns;
    for (std::int64_t j = 0; j < columns; ++j) to[j] += factor * row[j];
  }
  return [sums](std::int64_t element) { return static_cast<double>((*sums)[element]); };
}

inline double ExactGelu(double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); }

}  // namespace bench
