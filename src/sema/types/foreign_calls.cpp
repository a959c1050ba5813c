#include "sema/types/foreign_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sema/model/builtins.h"
#include "sema/model/reduction_kinds.h"
#include "sema/types/coerce.h"
#include "sema/walk/quote.h"
#include "syntax/foreign_names.h"

namespace kdl::sema {

namespace {

using syntax::CallExpr;
using syntax::Expr;

/// Returns the last word of a type that is written as `float`, `np.float32` or `"float32"`.
std::string_view LastWord(const Expr* expr) {
  if (const auto* name = syntax::DynAs<syntax::NameExpr>(expr)) return name->name.text();
  if (const auto* text = syntax::DynAs<syntax::StringLit>(expr)) return text->value;
  const auto* field = syntax::DynAs<syntax::FieldExpr>(expr);
  return field != nullptr && field->name ? field->name.name.text() : std::string_view();
}

/// Returns the first name in an expression such as `tl.math`, or null.
const syntax::NameExpr* FirstName(const Expr* expr) {
  while (const auto* field = syntax::DynAs<syntax::FieldExpr>(expr)) expr = field->base;
  return syntax::DynAs<syntax::NameExpr>(expr);
}

/// Returns whether the expression before a dot is an unknown name, such as `np`, or a part of one, such as `tl.math`.
bool IsUnknownModule(const FunctionState& state, const Expr* expr) {
  const syntax::NameExpr* name = FirstName(expr);
  return name != nullptr && state.scopes.Find(name->name) == nullptr &&
         FindBuiltin(name->name.text()) == nullptr;
}

/// Returns what to write to convert an operand to a type of another language, or an empty string. The operand may be a
/// string, as in `float("inf")`.
std::string HelpForCast(const FunctionState& state, std::string_view type, const Expr* operand) {
  std::optional<Scalar> scalar = ScalarFromSpelling(syntax::TypeMeant(type));
  if (!scalar) return {};
  if (const auto* text = syntax::DynAs<syntax::StringLit>(operand)) {
    constexpr std::string_view kValues[] = {"inf", "-inf", "nan"};
    bool is_value = std::ranges::find(kValues, text->value) != std::end(kValues);
    return is_value ? fmt::format("write {}", text->value) : std::string();
  }
  return fmt::format("write '{}'", AsHint(state, operand, *scalar));
}

/// Returns what to write instead of a method that converts its operand, such as `x.astype(np.float32)` or `x.half()`, or
/// of a type of a module, such as `np.float32(x)`. Returns an empty string for other methods.
std::string HelpForConversion(const FunctionState& state, const CallExpr& call, bool is_module) {
  std::string_view operation = call.callee.name.text();
  if (call.args.size() > 1) return {};
  if (is_module) return call.args.empty() ? "" : HelpForCast(state, operation, call.args[0].value);
  if (call.args.empty()) return HelpForCast(state, operation, call.receiver);
  constexpr std::string_view kConversions[] = {"astype", "to", "type", "cast"};
  bool converts = std::ranges::find(kConversions, operation) != std::end(kConversions);
  return converts ? HelpForCast(state, LastWord(call.args[0].value), call.receiver) : "";
}

}  // namespace

std::string HelpForForeignCall(const FunctionState& state, const CallExpr& call) {
  std::string_view name = call.callee.name.text();
  if (call.args.size() == 1) return HelpForCast(state, name, call.args[0].value);
  if (call.args.size() != 2) return {};
  return syntax::HelpForAtomic(name, Quote(state, call.args[0].value),
                               Quote(state, call.args[1].value));
}

std::string HelpForMethod(const FunctionState& state, const CallExpr& call) {
  std::string_view operation = call.callee.name.text();
  bool is_module = IsUnknownModule(state, call.receiver);
  if (std::string help = HelpForConversion(state, call, is_module); !help.empty()) return help;
  if (std::string help = syntax::HelpForForeign(operation); !help.empty()) return help;
  bool is_reduction = FindReduction(operation).has_value();
  if (is_module && !is_reduction && !call.args.empty()) {
    std::vector<std::string> args;
    for (const syntax::Arg& arg : call.args) args.push_back(Quote(state, arg.value));
    return fmt::format("write '{}({})'", operation, fmt::join(args, ", "));
  }
  std::string operand = is_module ? "x[i]" : Quote(state, call.receiver);
  if (is_reduction)
    return fmt::format("write {}({} over …), with the ranges to reduce", operation, operand);
  return fmt::format("call a function with its operand in parentheses: {}({})", operation, operand);
}

bool ReportForeignConstant(FunctionState& state, const syntax::FieldExpr& field) {
  const auto* module = syntax::DynAs<syntax::NameExpr>(field.base);
  if (module == nullptr || !IsUnknownModule(state, module)) return false;
  if (!syntax::HelpForForeign(module->name.text()).empty()) return false;
  std::string help = syntax::HelpForForeign(field.name.name.text());
  if (help.empty()) return false;
  state.diagnostics.Report(diag::UnknownName, field.span, Quote(state, &field)).Help(help);
  return true;
}

}  // namespace kdl::sema
