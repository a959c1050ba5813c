#include "sema/walk/quote.h"

namespace kdl::sema {

namespace {

constexpr size_t kLongest = 40;  ///< the maximum length of a quoted expression

}  // namespace

std::string Quote(const FunctionState& state, const syntax::Expr* expr) {
  std::string_view text = state.Text(expr->span);
  size_t line = text.find('\n');
  bool cut = text.size() > kLongest || line != std::string_view::npos;
  return fmt::format("{}{}", text.substr(0, std::min(line, cut ? kLongest : text.size())),
                     cut ? "…" : "");
}

}  // namespace kdl::sema
