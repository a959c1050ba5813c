#include "sema/walk/quote.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

constexpr size_t kLongest = 40;  ///< the maximum length of a quoted expression

bool HasRanges(const FunctionState& state, const syntax::Expr* expr,
               const std::vector<const Entity*>& ranges) {
  auto known = state.fn.exprs.find(expr);
  return known != state.fn.exprs.end() && Missing(ranges, known->second.type.ranges).empty();
}

}  // namespace

std::string Quote(const FunctionState& state, const syntax::Expr* expr) {
  std::string_view text = state.Text(expr->span);
  size_t line = text.find('\n');
  bool cut = text.size() > kLongest || line != std::string_view::npos;
  return fmt::format("{}{}", text.substr(0, std::min(line, cut ? kLongest : text.size())),
                     cut ? "…" : "");
}

std::string ReducedText(const FunctionState& state, const syntax::Expr* value,
                        const std::vector<const Entity*>& ranges) {
  const auto* product = syntax::DynAs<syntax::BinaryExpr>(value);
  bool is_dot = product != nullptr && product->op == syntax::BinaryOp::Mul &&
                HasRanges(state, product->lhs, ranges) && HasRanges(state, product->rhs, ranges);
  if (is_dot)
    return fmt::format("dot({}, {} over {})", Quote(state, product->lhs),
                       Quote(state, product->rhs), Joined(ranges));
  return fmt::format("sum({} over {})", Quote(state, value), Joined(ranges));
}

}  // namespace kdl::sema
