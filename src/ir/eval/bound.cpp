#include "ir/eval/bound.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <numbers>

#include "ir/op_kind.h"

namespace kdl::ir {

namespace {

/// Returns the bound of a rounded result: |result| plus, for each operand, its bound times the absolute value
/// of the partial derivative with respect to this operand. The bound is 0 if the result is infinite or NaN,
/// because such results are not rounded. An operand whose bound is 0 contributes nothing, even if the
/// derivative is infinite.
double Rounded(double result, std::initializer_list<double> partials, const uint64_t* bounds) {
  if (!std::isfinite(result)) return 0;
  double bound = std::fabs(result);
  if (bounds == nullptr) return bound;
  for (double partial : partials) {
    auto operand = std::bit_cast<double>(*bounds++);
    if (operand != 0) bound += std::fabs(partial) * operand;
  }
  return bound;
}

double Kept(const uint64_t* bounds) {
  return bounds == nullptr ? 0 : std::bit_cast<double>(bounds[0]);
}

double Largest(const uint64_t* bounds) {
  if (bounds == nullptr) return 0;
  return std::max(std::bit_cast<double>(bounds[0]), std::bit_cast<double>(bounds[1]));
}

struct BoundRow {
  OpKind kind;
  BoundFn bound;
};

// Returns operand number `i`, or 0 if there is no such operand. In a rule, f is the result, and a, b and c
// are the operands that the op has.
constexpr double At(const uint64_t* values, bool has, size_t i) {
  return has ? std::bit_cast<double>(values[i]) : 0;
}
#define KEPT Kept(bounds)
#define LARGEST Largest(bounds)
#define PARTIALS(...) Rounded(f, {__VA_ARGS__}, bounds)
#define RULE(kind, rule)                                                                        \
  BoundRow{                                                                                     \
      OpKind::kind, [](const uint64_t* values, const uint64_t* bounds) -> double {              \
        [[maybe_unused]] const double f = At(values, true, 0);                                  \
        [[maybe_unused]] const double a = At(values, bounds != nullptr, 1);                     \
        [[maybe_unused]] const double b = At(values, bounds != nullptr && kArity##kind > 1, 2); \
        [[maybe_unused]] const double c = At(values, bounds != nullptr && kArity##kind > 2, 3); \
        return rule;                                                                            \
      }},

#define ONE(name, effect) +1
#define OPT(name, effect)
#define MANY(name, effect)
#define KDL_UNPAREN(...) __VA_ARGS__
#define KDL_OP(kind, spelling, operands, ...) constexpr int kArity##kind = 0 KDL_UNPAREN operands;
#include "ir/ops.def"
#undef ONE
#undef OPT
#undef MANY
#undef KDL_UNPAREN

constexpr BoundRow kBounds[] = {
#define KDL_OP(kind, spelling, operands, results, attributes, places, traits, regions, format, \
               meaning, ...)                                                                   \
  __VA_OPT__(RULE(kind, (__VA_ARGS__)))
#include "ir/ops.def"
};

}  // namespace

BoundFn FindBound(OpKind kind) {
  const BoundRow* row = std::find_if(std::begin(kBounds), std::end(kBounds),
                                     [&](const BoundRow& r) { return r.kind == kind; });
  return row == std::end(kBounds) ? nullptr : row->bound;
}

}  // namespace kdl::ir
