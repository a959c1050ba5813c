#include "ir/eval/bound.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "ir/eval/eval.h"
#include "ir/op_info.h"

namespace {

using kdl::Scalar;
using kdl::ir::BoundFn;
using kdl::ir::OpKind;

double Value(OpKind kind, const std::vector<double>& operands) {
  std::vector<uint64_t> bits;
  for (double operand : operands) bits.push_back(std::bit_cast<uint64_t>(operand));
  return std::bit_cast<double>(*kdl::ir::Evaluate(kind, Scalar::F64, Scalar::F64, bits.data()));
}

double Bound(OpKind kind, double result, const std::vector<double>& operands,
             const std::vector<double>& operand_bounds) {
  std::vector<uint64_t> values = {std::bit_cast<uint64_t>(result)};
  std::vector<uint64_t> bounds;
  for (double operand : operands) values.push_back(std::bit_cast<uint64_t>(operand));
  for (double bound : operand_bounds) bounds.push_back(std::bit_cast<uint64_t>(bound));
  return kdl::ir::FindBound(kind)(values.data(), bounds.empty() ? nullptr : bounds.data());
}

/// Returns |f| plus, for each operand, its bound times the absolute value of the partial derivative.
/// Derivatives are approximated with small differences.
double Measured(OpKind kind, const std::vector<double>& operands,
                const std::vector<double>& bounds) {
  double sum = std::fabs(Value(kind, operands));
  for (size_t i = 0; i < operands.size(); ++i) {
    constexpr double kStep = 1e-6;
    std::vector<double> above = operands;
    std::vector<double> below = operands;
    above[i] += kStep;
    below[i] -= kStep;
    sum += std::fabs((Value(kind, above) - Value(kind, below)) / (2 * kStep)) * bounds[i];
  }
  return sum;
}

}  // namespace

TEST_CASE("the bound of a rounded result is |f| plus each partial derivative times its bound") {
  const std::vector<double> operands = {0.7, 1.3, -0.4};
  const std::vector<double> bounds = {3, 5, 11};
  int rules = 0;
  for (size_t k = 0; k < kdl::ir::kOpCount; ++k) {
    auto kind = static_cast<OpKind>(k);
    bool rounds = kind != OpKind::Cast && kdl::ir::FindBound(kind) && Bound(kind, 1, {}, {}) == 1;
    if (!rounds) continue;
    ++rules;
    size_t count = kdl::ir::Info(kind).operands.size();
    std::vector<double> own(operands.begin(), operands.begin() + static_cast<ptrdiff_t>(count));
    std::vector<double> own_bounds(bounds.begin(), bounds.begin() + static_cast<ptrdiff_t>(count));
    double measured = Measured(kind, own, own_bounds);
    INFO(kdl::ir::Info(kind).spelling);
    CHECK(Bound(kind, Value(kind, own), own, own_bounds) ==
          doctest::Approx(measured).epsilon(1e-6));
  }
  CHECK(rules == 27);
}

TEST_CASE("exact ops keep a bound, and so does the larger of two values") {
  CHECK(Bound(OpKind::Neg, -2, {2}, {3}) == 3);
  CHECK(Bound(OpKind::Floor, 2, {2.5}, {3}) == 3);
  CHECK(Bound(OpKind::Max, 2, {1, 2}, {3, 5}) == 5);
  CHECK(Bound(OpKind::Min, 1, {1, 2}, {3, 5}) == 5);
  CHECK(Bound(OpKind::Max, 2, {}, {}) == 0);
  for (OpKind kind : {OpKind::Lt, OpKind::Load, OpKind::ToBits}) {
    bool has_rule = kdl::ir::FindBound(kind) != nullptr;
    CHECK_FALSE(has_rule);
  }
}

TEST_CASE("infinities are not rounded, and a bound of 0 stays 0 for any derivative") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK(Bound(OpKind::Add, kInfinity, {kInfinity, 1}, {0, 7}) == 0);
  CHECK(Bound(OpKind::Sqrt, 0, {0}, {0}) == 0);
  CHECK(Bound(OpKind::Mul, 6, {2, 3}, {0, 0}) == 6);
}
