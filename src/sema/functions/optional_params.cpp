#include "sema/functions/optional_params.h"

#include <fmt/format.h>

#include <algorithm>

namespace kdl::sema {

using syntax::FunctionItem;
using syntax::Param;

namespace {

bool CanBeOptional(const FunctionItem& item, const Param& param) {
  return item.function_kind == syntax::FunctionKind::Kernel && !param.type->dims.empty();
}

}  // namespace

std::vector<const Param*> OptionalParams(const FunctionItem& item) {
  std::vector<const Param*> params;
  for (const Param& param : item.params) {
    bool counts = param.is_optional && CanBeOptional(item, param);
    if (counts && params.size() < kMostOptionals) params.push_back(&param);
  }
  return params;
}

std::vector<std::vector<OptionalInfo>> OptionalCombinations(const FunctionItem& item) {
  std::vector<std::vector<OptionalInfo>> combinations = {{}};
  for (const Param* param : OptionalParams(item)) {
    std::vector<std::vector<OptionalInfo>> longer;
    for (const std::vector<OptionalInfo>& combination : combinations) {
      for (bool is_present : {true, false}) {
        longer.push_back(combination);
        longer.back().push_back({param->name.name, is_present});
      }
    }
    combinations = std::move(longer);
  }
  return combinations;
}

bool IsWronglyOptional(FunctionState& state, const Param& param) {
  if (!param.is_optional) return false;
  const FunctionItem& item = *state.fn.item;
  std::string_view name = param.name.name.text();
  if (!CanBeOptional(item, param)) {
    Diagnostic& report = state.diagnostics.Report(diag::OptionalKind, param.span, name);
    if (item.function_kind == syntax::FunctionKind::Kernel)
      report.Help(fmt::format("declare a tensor with one element: {}: {}[1]?", name,
                              ToString(param.type->name)));
    return true;
  }
  std::vector<const Param*> params = OptionalParams(item);
  if (std::ranges::find(params, &param) != params.end()) return false;
  state.diagnostics.Report(diag::TooManyOptionals, param.span, item.name.name.text(),
                           kMostOptionals);
  return true;
}

std::optional<PresenceTest> PresenceTestOf(const FunctionItem& item,
                                           const syntax::Expr* condition) {
  PresenceTest test;
  if (const auto* negated = syntax::DynAs<syntax::UnaryExpr>(condition)) {
    if (negated->op != syntax::UnaryOp::Not) return std::nullopt;
    test.is_negated = true;
    condition = negated->operand;
  }
  const auto* name = syntax::DynAs<syntax::NameExpr>(condition);
  if (name == nullptr) return std::nullopt;
  for (const Param* param : OptionalParams(item))
    if (param->name.name == name->name) test.param = param;
  return test.param != nullptr ? std::optional(test) : std::nullopt;
}

}  // namespace kdl::sema
