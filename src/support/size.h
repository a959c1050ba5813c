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

/// A size as an expression over size names and generic constants: `M`, `64`, `H + 2*P`. Interned: equal means same pointer.
struct SizeNode {
  SizeKind kind;
  int64_t value = 0;  ///< Constant
  Name symbol;        ///< Symbol
  const SizeNode* lhs = nullptr;
  const SizeNode* rhs = nullptr;
};
using Size = const SizeNode*;

inline bool IsConstant(Size size) { return size->kind == SizeKind::Constant; }
inline bool IsConstant(Size size, int64_t value) {
  return IsConstant(size) && size->value == value;
}
/// `M`, `64`, `(H + 2*P)`: reads back as the same size.
std::string ToString(Size size);

/// Whether a division in it is by what may be 0: then it has a value in some launches only.
bool MayDivideByZero(Size size);

/// Owns and interns sizes. One table a compile; every Size made from it lives as long.
class SizeTable {
 public:
  SizeTable() = default;
  SizeTable(const SizeTable&) = delete;
  SizeTable& operator=(const SizeTable&) = delete;

  Size Constant(int64_t value);
  Size Symbol(Name name);
  /// A symbol that is no other one, whatever its text.
  Size Fresh(std::string_view text);
  /// Folds constants and the neutral elements 0 and 1; what has no value in 64 bits, or may divide by 0, stays as it is written.
  Size Binary(SizeKind kind, Size lhs, Size rhs);
  /// `size` with every symbol replaced for which `replace` gives a size.
  Size Substitute(Size size, const std::function<Size(Name)>& replace);

 private:
  Size Intern(SizeNode node);

  std::vector<std::unique_ptr<SizeNode>> sizes_;
  std::unordered_map<std::string, Size> index_;
  std::vector<std::unique_ptr<Names>> fresh_;  ///< one for each name, which is in no other table
};

/// The value, given those of the symbols; nothing where a symbol is unknown or a divisor is 0.
std::optional<int64_t> Evaluate(Size size,
                                const std::function<std::optional<int64_t>(Name)>& symbol);

/// The same, but nothing where an operation leaves 64 bits.
std::optional<int64_t> EvaluateChecked(Size size,
                                       const std::function<std::optional<int64_t>(Name)>& symbol);
/// What is said of a size that has no value, its symbols being known.
std::string NoValueText(Size size);

/// floor(a / b) and a - b * floor(a / b), wrapping; b is not 0.
int64_t FloorDivide(int64_t a, int64_t b);
int64_t FloorModulo(int64_t a, int64_t b);

}  // namespace kdl
