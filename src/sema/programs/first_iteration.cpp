#include "sema/programs/first_iteration.h"

#include <cstdint>

#include "sema/model/literal.h"

namespace kdl::sema {

namespace {

using syntax::BinaryExpr;
using syntax::BinaryOp;
using syntax::Expr;
using syntax::UnaryExpr;
using syntax::UnaryOp;

class FirstIteration {
 public:
  FirstIteration(const FunctionState& state, const Entity& binder)
      : state_(state), binder_(binder) {}

  std::optional<bool> Condition(const Expr* expr) const {
    if (const Constant* constant = ConstantOf(expr)) return constant->bits != 0;
    if (const auto* unary = syntax::DynAs<UnaryExpr>(expr)) return Not(*unary);
    const auto* binary = syntax::DynAs<BinaryExpr>(expr);
    if (binary == nullptr) return std::nullopt;
    if (binary->op == BinaryOp::And) return Joined(*binary, false);
    if (binary->op == BinaryOp::Or) return Joined(*binary, true);
    return Comparison(*binary);
  }

 private:
  const Constant* ConstantOf(const Expr* expr) const {
    auto info = state_.fn.exprs.find(expr);
    return info != state_.fn.exprs.end() && info->second.constant ? &*info->second.constant
                                                                  : nullptr;
  }

  std::optional<bool> Not(const UnaryExpr& unary) const {
    if (unary.op != UnaryOp::Not) return std::nullopt;
    std::optional<bool> operand = Condition(unary.operand);
    return operand ? std::optional(!*operand) : std::nullopt;
  }

  /// Returns the value of `&&` or `||`, whose result is `decisive` if one of the operands is.
  std::optional<bool> Joined(const BinaryExpr& binary, bool decisive) const {
    std::optional<bool> lhs = Condition(binary.lhs);
    std::optional<bool> rhs = Condition(binary.rhs);
    if (lhs == decisive || rhs == decisive) return decisive;
    return lhs && rhs ? std::optional(!decisive) : std::nullopt;
  }

  std::optional<bool> Comparison(const BinaryExpr& binary) const {
    std::optional<int64_t> lhs = Integer(binary.lhs);
    std::optional<int64_t> rhs = Integer(binary.rhs);
    if (!lhs || !rhs) return std::nullopt;
    switch (binary.op) {
      case BinaryOp::Eq:
        return *lhs == *rhs;
      case BinaryOp::Ne:
        return *lhs != *rhs;
      case BinaryOp::Lt:
        return *lhs < *rhs;
      case BinaryOp::Le:
        return *lhs <= *rhs;
      case BinaryOp::Gt:
        return *lhs > *rhs;
      case BinaryOp::Ge:
        return *lhs >= *rhs;
      default:
        return std::nullopt;
    }
  }

  std::optional<int64_t> Integer(const Expr* expr) const {
    auto info = state_.fn.exprs.find(expr);
    if (info == state_.fn.exprs.end()) return std::nullopt;
    if (info->second.entity == &binder_ && expr->kind == syntax::ExprKind::Name)
      return binder_.lo == nullptr ? std::nullopt : Integer(binder_.lo);
    if (info->second.constant && IsInteger(info->second.constant->scalar))
      return ToInt64(FromConstant(*info->second.constant));
    if (info->second.size != nullptr && IsConstant(info->second.size))
      return info->second.size->value;
    const auto* binary = syntax::DynAs<BinaryExpr>(expr);
    return binary == nullptr ? std::nullopt : Arithmetic(*binary);
  }

  /// Returns the value of a sum, difference, product or remainder. The remainder of a negative number is not
  /// needed.
  std::optional<int64_t> Arithmetic(const BinaryExpr& binary) const {
    bool is_ring =
        binary.op == BinaryOp::Add || binary.op == BinaryOp::Sub || binary.op == BinaryOp::Mul;
    if (!is_ring && binary.op != BinaryOp::Rem) return std::nullopt;
    std::optional<int64_t> lhs = Integer(binary.lhs);
    std::optional<int64_t> rhs = Integer(binary.rhs);
    if (!lhs || !rhs || (!is_ring && (*lhs < 0 || *rhs < 0))) return std::nullopt;
    std::optional<Literal> value = Fold(binary.op, Literal::Int(*lhs), Literal::Int(*rhs)).value;
    return value ? ToInt64(*value) : std::nullopt;
  }

  const FunctionState& state_;
  const Entity& binder_;
};

}  // namespace

std::optional<bool> InFirstIteration(const FunctionState& state, const syntax::Expr* condition,
                                     const Entity& binder) {
  return FirstIteration(state, binder).Condition(condition);
}

}  // namespace kdl::sema
