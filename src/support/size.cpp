#include "support/size.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/check.h"

namespace kdl {

namespace {

int64_t Wrap(uint64_t value) { return static_cast<int64_t>(value); }

int64_t Fold(SizeKind kind, int64_t a, int64_t b) {
  auto ua = static_cast<uint64_t>(a);
  auto ub = static_cast<uint64_t>(b);
  switch (kind) {
    case SizeKind::Add:
      return Wrap(ua + ub);
    case SizeKind::Sub:
      return Wrap(ua - ub);
    case SizeKind::Mul:
      return Wrap(ua * ub);
    case SizeKind::FloorDiv:
      return FloorDivide(a, b);
    case SizeKind::Mod:
      return FloorModulo(a, b);
    case SizeKind::Min:
      return std::min(a, b);
    default:
      KDL_UNREACHABLE("not a binary size");
  }
}

/// Evaluates one operation; returns nothing if it overflows 64 bits or divides by 0.
std::optional<int64_t> FoldChecked(SizeKind kind, int64_t a, int64_t b) {
  int64_t value = 0;
  switch (kind) {
    case SizeKind::Add:
      return __builtin_add_overflow(a, b, &value) ? std::nullopt : std::optional(value);
    case SizeKind::Sub:
      return __builtin_sub_overflow(a, b, &value) ? std::nullopt : std::optional(value);
    case SizeKind::Mul:
      return __builtin_mul_overflow(a, b, &value) ? std::nullopt : std::optional(value);
    case SizeKind::Min:
      return std::min(a, b);
    default:
      if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
      return Fold(kind, a, b);
  }
}

std::string_view OperatorText(SizeKind kind) {
  switch (kind) {
    case SizeKind::Add:
      return " + ";
    case SizeKind::Sub:
      return " - ";
    case SizeKind::Mul:
      return "*";
    case SizeKind::FloorDiv:
      return " / ";
    case SizeKind::Mod:
      return " % ";
    default:
      KDL_UNREACHABLE("not a binary size");
  }
}

}  // namespace

int64_t FloorDivide(int64_t a, int64_t b) {
  if (b == -1) return Wrap(0 - static_cast<uint64_t>(a));
  int64_t quotient = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t FloorModulo(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

std::string ToString(Size size) {
  if (size->kind == SizeKind::Constant) return fmt::format("{}", size->value);
  if (size->kind == SizeKind::Symbol) return size->symbol.str();
  if (size->kind == SizeKind::Min)
    return fmt::format("min({}, {})", ToString(size->lhs), ToString(size->rhs));
  return fmt::format("({}{}{})", ToString(size->lhs), OperatorText(size->kind),
                     ToString(size->rhs));
}

bool MayDivideByZero(Size size) {
  if (IsConstant(size) || size->kind == SizeKind::Symbol) return false;
  bool divides = size->kind == SizeKind::FloorDiv || size->kind == SizeKind::Mod;
  if (divides && (!IsConstant(size->rhs) || size->rhs->value == 0)) return true;
  return MayDivideByZero(size->lhs) || MayDivideByZero(size->rhs);
}

Size SizeTable::Intern(SizeNode node) {
  std::string key =
      fmt::format("{} {} {} {} {}", static_cast<int>(node.kind), node.value, node.symbol.text(),
                  static_cast<const void*>(node.lhs), static_cast<const void*>(node.rhs));
  auto [slot, is_new] = index_.try_emplace(std::move(key), nullptr);
  if (is_new) {
    sizes_.push_back(std::make_unique<SizeNode>(node));
    slot->second = sizes_.back().get();
  }
  return slot->second;
}

Size SizeTable::Constant(int64_t value) {
  return Intern({SizeKind::Constant, value, {}, nullptr, nullptr});
}
Size SizeTable::Symbol(Name name) { return Intern({SizeKind::Symbol, 0, name, nullptr, nullptr}); }

Size SizeTable::Fresh(std::string_view text) {
  Name name = fresh_.emplace_back(std::make_unique<Names>())->Intern(text);
  sizes_.push_back(
      std::make_unique<SizeNode>(SizeNode{SizeKind::Symbol, 0, name, nullptr, nullptr}));
  return sizes_.back().get();
}

Size SizeTable::Binary(SizeKind kind, Size lhs, Size rhs) {
  if (IsConstant(lhs) && IsConstant(rhs)) {
    std::optional<int64_t> value = FoldChecked(kind, lhs->value, rhs->value);
    return value ? Constant(*value) : Intern({kind, 0, {}, lhs, rhs});
  }
  bool rhs_neutral =
      (kind == SizeKind::Add || kind == SizeKind::Sub)
          ? IsConstant(rhs, 0)
          : (kind == SizeKind::Mul || kind == SizeKind::FloorDiv) && IsConstant(rhs, 1);
  if (rhs_neutral) return lhs;
  if (kind == SizeKind::Add && IsConstant(lhs, 0)) return rhs;
  if (kind == SizeKind::Mul && IsConstant(lhs, 1)) return rhs;
  bool is_nothing = kind == SizeKind::Mul && (IsConstant(lhs, 0) || IsConstant(rhs, 0));
  if (is_nothing && !MayDivideByZero(lhs) && !MayDivideByZero(rhs)) return Constant(0);
  return Intern({kind, 0, {}, lhs, rhs});
}

Size SizeTable::Substitute(Size size, const std::function<Size(Name)>& replace) {
  if (size->kind == SizeKind::Constant) return size;
  if (size->kind == SizeKind::Symbol) {
    Size replacement = replace(size->symbol);
    return replacement ? replacement : size;
  }
  return Binary(size->kind, Substitute(size->lhs, replace), Substitute(size->rhs, replace));
}

std::optional<int64_t> Evaluate(Size size,
                                const std::function<std::optional<int64_t>(Name)>& symbol) {
  if (size->kind == SizeKind::Constant) return size->value;
  if (size->kind == SizeKind::Symbol) return symbol(size->symbol);
  std::optional<int64_t> lhs = Evaluate(size->lhs, symbol);
  std::optional<int64_t> rhs = Evaluate(size->rhs, symbol);
  bool divides = size->kind == SizeKind::FloorDiv || size->kind == SizeKind::Mod;
  if (!lhs || !rhs || (divides && *rhs == 0)) return std::nullopt;
  return Fold(size->kind, *lhs, *rhs);
}

std::optional<int64_t> EvaluateChecked(Size size,
                                       const std::function<std::optional<int64_t>(Name)>& symbol) {
  if (size->kind == SizeKind::Constant) return size->value;
  if (size->kind == SizeKind::Symbol) return symbol(size->symbol);
  std::optional<int64_t> lhs = EvaluateChecked(size->lhs, symbol);
  std::optional<int64_t> rhs = EvaluateChecked(size->rhs, symbol);
  if (!lhs || !rhs) return std::nullopt;
  return FoldChecked(size->kind, *lhs, *rhs);
}

std::string NoValueText(Size size) {
  std::string text = ToString(size);
  if (text.front() == '(') text = text.substr(1, text.size() - 2);
  return fmt::format("size '{}' divides by zero or overflows 64 bits", text);
}

}  // namespace kdl
