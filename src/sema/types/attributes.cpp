#include "sema/types/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "sema/diagnostics.h"
#include "sema/types/literal_value.h"
#include "support/near_names.h"

namespace kdl::sema {

namespace {

/// The form of an attribute. Its arguments are numbers from 1 to `most`.
struct Form {
  std::string_view name;
  size_t least_args, most_args;
  std::string_view arg;  ///< the name of the argument; empty if the argument has no name
  int64_t most;
  std::string_view example;
};

constexpr std::array<Form, 6> kForms = {{
    {"depth", 1, 1, "", 1024, "@depth(2)"},
    {"pipelined", 1, 1, "", 1024, "@pipelined(3)"},
    {"order", 1, 1, "grouped", INT32_MAX, "@order(grouped = 8)"},
    {"unroll", 0, 0, "", 0, "@unroll"},
    {"dynamic", 0, 0, "", 0, "@dynamic"},
    {"team", 1, 3, "", 1024, "@team(2, 1)"},
}};

const Form* FindForm(std::string_view name) {
  const Form* found = std::ranges::find(kForms, name, &Form::name);
  return found == kForms.end() ? nullptr : found;
}

/// Returns whether the attribute is the second operand of a product of matrices, as in `a @ b`.
bool IsOperand(const FunctionState& state, const syntax::Attribute& attribute) {
  return attribute.args.empty() && state.scopes.Find(attribute.name.name) != nullptr;
}

void ReportUnknown(FunctionState& state, const syntax::Attribute& attribute) {
  std::string_view name = attribute.name.name.text();
  std::array<std::string_view, kForms.size()> names;
  std::ranges::transform(kForms, names.begin(), &Form::name);
  std::string_view nearest = NearestName(name, names);
  state.diagnostics.Report(diag::UnknownAttribute, attribute.span, name)
      .Help(IsOperand(state, attribute)
                ? "write dot(a[i, k], b[k, j] over k) for a product of matrices"
            : nearest.empty()
                ? "the attributes are @depth, @pipelined, @order, @unroll, @dynamic and @team"
                : fmt::format("did you mean '@{}'?", nearest));
}

std::string ArgumentsText(const Form& form) {
  if (form.most_args == 0) return "no arguments";
  std::string count = form.least_args == form.most_args
                          ? "one number"
                          : fmt::format("{} to {} numbers", form.least_args, form.most_args);
  return fmt::format("{}{} from 1 to {}", count,
                     form.arg.empty() ? "" : fmt::format(" named '{}'", form.arg), form.most);
}

std::optional<int64_t> Number(FunctionState& state, const Form& form, const syntax::Arg& arg) {
  std::string what = fmt::format("the argument of @{}", form.name);
  std::optional<Literal> literal = EvaluateLiteral(state, arg.value, what);
  if (!literal) return std::nullopt;
  std::optional<int64_t> value = ToInt64(*literal);
  bool named = (arg.name.name.empty() ? "" : arg.name.name.text()) == form.arg;
  if (named && value && *value >= 1 && *value <= form.most) return value;
  state.diagnostics.Report(diag::AttributeArguments, arg.span, form.name, ArgumentsText(form))
      .Help(fmt::format("for example {}", form.example));
  return std::nullopt;
}

void CheckArguments(FunctionState& state, const Form& form, const syntax::Attribute& attribute) {
  size_t count = attribute.args.size();
  if (count < form.least_args || count > form.most_args) {
    state.diagnostics
        .Report(diag::AttributeArguments, attribute.span, form.name, ArgumentsText(form))
        .Help(fmt::format("for example {}", form.example));
    return;
  }
  for (const syntax::Arg& arg : attribute.args) Number(state, form, arg);
}

}  // namespace

bool CheckAttributes(FunctionState& state, const std::vector<syntax::Attribute>& attributes) {
  bool ok = true;
  for (const syntax::Attribute& attribute : attributes) {
    const Form* form = FindForm(attribute.name.name.text());
    if (form == nullptr) {
      ReportUnknown(state, attribute);
      ok = ok && !IsOperand(state, attribute);
    } else {
      CheckArguments(state, *form, attribute);
    }
  }
  return ok;
}

const syntax::Attribute* FindAttribute(const std::vector<syntax::Attribute>& attributes,
                                       std::string_view name) {
  auto has_name = [&](const syntax::Attribute& a) { return a.name.name.text() == name; };
  auto found = std::ranges::find_if(attributes, has_name);
  return found == attributes.end() ? nullptr : &*found;
}

std::optional<int64_t> AttributeNumber(FunctionState& state, const syntax::Attribute& attribute) {
  if (attribute.args.size() != 1) return std::nullopt;
  return Number(state, *FindForm(attribute.name.name.text()), attribute.args[0]);
}

}  // namespace kdl::sema
