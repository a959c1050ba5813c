#include "syntax/counted_outputs.h"

namespace kdl::syntax {

namespace {

constexpr std::string_view kName = "counted.";  // names in a source contain no dot

}  // namespace

bool ListsCounts(const Attribute& attribute) { return attribute.name.name.text() == kName; }

Name CountOf(const FunctionItem& kernel, Name output) {
  for (const Attribute& attribute : kernel.attributes) {
    if (!ListsCounts(attribute)) continue;
    for (const Arg& arg : attribute.args)
      if (arg.name.name == output) return As<NameExpr>(arg.value).name;
  }
  return {};
}

void AddCount(Names& names, FunctionItem& kernel, const Ident& output, const Expr* count) {
  if (kernel.attributes.empty() || !ListsCounts(kernel.attributes.back())) {
    Attribute& list = kernel.attributes.emplace_back();
    list.span = output.span;
    list.name.span = output.span;
    list.name.name = names.Intern(kName);
  }
  Arg& arg = kernel.attributes.back().args.emplace_back();
  arg.span = count->span;
  arg.name = output;
  arg.value = count;
}

}  // namespace kdl::syntax
