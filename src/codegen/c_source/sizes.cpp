#include <cmath>
#include <optional>
#include <string>

#include "codegen/c_source/writer.h"
#include "codegen/common/size_operation.h"
#include "kdl/queue.h"
#include "support/check.h"

// Writes sizes as C expressions. Before a launch, sizes come from the caller, and arithmetic on them may overflow or
// divide by 0. On a core, the checks before the launch have excluded both.

namespace kdl::codegen::c_source {

namespace {

constexpr double kLargestSum = 0x1p62;  ///< sizes up to this one are computed without checks

std::string SymbolText(const Writer& w, Name symbol) {
  if (symbol.text() == ir::kCoreNum) return "kdl_cores";
  for (size_t i = 0; i < w.kernel.dims.size(); ++i)
    if (w.kernel.dims[i] == symbol) return w.Get(w.kernel.dim_value(i));
  KDL_UNREACHABLE("'{}' is not the name of a size", symbol.text());
}

/// Returns a bound of the size's magnitude, or nothing if its computation may overflow 64 bits or divide by 0.
std::optional<double> BoundOf(Size size) {
  if (size->kind == SizeKind::Constant) return std::fabs(static_cast<double>(size->value));
  if (size->kind == SizeKind::Symbol) return static_cast<double>(KDL_LARGEST_SIZE);
  std::optional<double> a = BoundOf(size->lhs);
  std::optional<double> b = BoundOf(size->rhs);
  if (!a || !b) return std::nullopt;
  bool divides = size->kind == SizeKind::FloorDiv || size->kind == SizeKind::Mod;
  if (divides && (!IsConstant(size->rhs) || IsConstant(size->rhs, 0))) return std::nullopt;
  double bound = size->kind == SizeKind::Mul ? *a * *b : divides ? *a + *b + 1 : *a + *b;
  return bound <= kLargestSum ? std::optional(bound) : std::nullopt;
}

constexpr std::string_view kSizeArithmetic =
    "// Arithmetic on sizes, which sets `wrong` to 1 if it divides by 0, and to 2 if it "
    "overflows.\n"
    "static inline int64_t kdl_size_add(int64_t a, int64_t b, int* wrong) {\n"
    "  if (b > 0 ? a <= INT64_MAX - b : a >= INT64_MIN - b) return a + b;\n"
    "  if (*wrong == 0) *wrong = 2;\n"
    "  return 0;\n"
    "}\n"
    "static inline int64_t kdl_size_sub(int64_t a, int64_t b, int* wrong) {\n"
    "  if (b < 0 ? a <= INT64_MAX + b : a >= INT64_MIN + b) return a - b;\n"
    "  if (*wrong == 0) *wrong = 2;\n"
    "  return 0;\n"
    "}\n"
    "static inline int64_t kdl_size_mul(int64_t a, int64_t b, int* wrong) {\n"
    "  const uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;\n"
    "  const uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;\n"
    "  const uint64_t most = (uint64_t)INT64_MAX + ((a < 0) != (b < 0));\n"
    "  if (x == 0 || y <= most / x) return (int64_t)((uint64_t)a * (uint64_t)b);\n"
    "  if (*wrong == 0) *wrong = 2;\n"
    "  return 0;\n"
    "}\n"
    "static inline int64_t kdl_size_div(int64_t a, int64_t b, int* wrong) {\n"
    "  if (b == -1) return kdl_size_sub(0, a, wrong);\n"
    "  if (b != 0) return a / b - (a % b != 0 && (a < 0) != (b < 0));\n"
    "  if (*wrong == 0) *wrong = 1;\n"
    "  return 0;\n"
    "}\n"
    "static inline int64_t kdl_size_mod(int64_t a, int64_t b, int* wrong) {\n"
    "  return (int64_t)((uint64_t)a - (uint64_t)b * (uint64_t)kdl_size_div(a, b, wrong));\n"
    "}\n"
    "static inline int64_t kdl_size_min(int64_t a, int64_t b, int* wrong) {\n"
    "  return (void)wrong, a < b ? a : b;\n"
    "}\n";

}  // namespace

std::string SizeText(const Writer& w, Size size) {
  if (size->kind == SizeKind::Constant)
    return ConstantText(Scalar::I64, static_cast<uint64_t>(size->value));
  if (size->kind == SizeKind::Symbol) return SymbolText(w, size->symbol);
  std::string a = SizeText(w, size->lhs);
  std::string b = SizeText(w, size->rhs);
  bool divides = size->kind == SizeKind::FloorDiv || size->kind == SizeKind::Mod;
  if (divides && !IsConstant(size->rhs)) {
    w.helpers.Define("kdl_divisor",
                     "// A divisor of 0 becomes 1. Its quotient is not used: a launch in which a "
                     "size divides by 0 is an error.\n"
                     "static inline int64_t kdl_divisor(int64_t b) { return b == 0 ? 1 : b; }\n");
    b = fmt::format("kdl_divisor({})", b);
  }
  return SizeOperation(size->kind, a, b, [&](std::string_view name) {
    return w.helpers.Function(name, Scalar::I64);
  });
}

bool IsSafe(Size size) { return BoundOf(size).has_value(); }

std::string CheckedSizeText(const Writer& w, Size size) {
  if (IsSafe(size)) return SizeText(w, size);
  w.helpers.Define("kdl_size", std::string(kSizeArithmetic));
  static constexpr std::string_view kNames[] = {"", "", "add", "sub", "mul", "div", "mod", "min"};
  return fmt::format("kdl_size_{}({}, {}, &kdl_wrong)", kNames[static_cast<size_t>(size->kind)],
                     CheckedSizeText(w, size->lhs), CheckedSizeText(w, size->rhs));
}

}  // namespace kdl::codegen::c_source
