#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "support/names.h"

namespace kdl {

enum class SizeKind : uint8_t { Constant, Symbol, Add, Sub, Mul, FloorDiv, Mod, Min };

/// A symbolic size: an expression over named sizes and generic constants, such as `M`, `64` or `H + 2*P`.
/// Nodes are interned, so equal sizes have equal addresses.
struct SizeNode {
  SizeKind kind;
  int64_t value = 0;  ///< the value of a Constant
  Name symbol;        ///< the name of a Symbol
  const SizeNode* lhs = nullptr;
  const SizeNode* rhs = nullptr;
};
using Size = const SizeNode*;

inline bool IsConstant(Size size) { return size->kind == SizeKind::Constant; }
inline bool IsConstant(Size size, int64_t value) {
  return IsConstant(size) && size->value == value;
}
/// Returns text such as `M`, `64` or `(H + 2*P)`, which parses to the same size.
std::string ToString(Size size);

/// Returns whether a divisor in `size` may be 0. If it is 0 in a launch, `size` has no value in that launch.
bool MayDivideByZero(Size size);

/// Owns and interns sizes. Each compilation has one table. A Size is valid while the table that made it
/// exists.
class SizeTable {
 public:
  SizeTable() = default;
  SizeTable(const SizeTable&) = delete;
  SizeTable& operator=(const SizeTable&) = delete;

  Size Constant(int64_t value);
  Size Symbol(Name name);
  /// Makes a symbol that differs from all others, even from those with the same text.
  Size Fresh(std::string_view text);
  /// Makes a binary operation, and folds constants and the neutral elements 0 and 1. An operation that
  /// overflows 64 bits or may divide by 0 is kept as written.
  Size Binary(SizeKind kind, Size lhs, Size rhs);
  /// Returns a copy of `size` in which each symbol is replaced by the result of `replace`. Symbols for which
  /// `replace` returns null are kept.
  Size Substitute(Size size, const std::function<Size(Name)>& replace);

 private:
  Size Intern(SizeNode node);

  std::vector<std::unique_ptr<SizeNode>> sizes_;
  std::unordered_map<std::string, Size> index_;
  /// One table for each fresh symbol, so that the symbol's Name equals no other Name.
  std::vector<std::unique_ptr<Names>> fresh_;
};

/// Returns the value of a size, given the values of its symbols. Returns nothing if a symbol is unknown or a
/// divisor is 0.
std::optional<int64_t> Evaluate(Size size,
                                const std::function<std::optional<int64_t>(Name)>& symbol);

/// Like `Evaluate`, but also returns nothing if an operation overflows 64 bits.
std::optional<int64_t> EvaluateChecked(Size size,
                                       const std::function<std::optional<int64_t>(Name)>& symbol);
/// Returns the error message for a size that has no value although its symbols are known.
std::string NoValueText(Size size);

/// Return floor(a / b) and a - b * floor(a / b), with wrapping arithmetic; b must not be 0.
int64_t FloorDivide(int64_t a, int64_t b);
int64_t FloorModulo(int64_t a, int64_t b);

}  // namespace kdl
