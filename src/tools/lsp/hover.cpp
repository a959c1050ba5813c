#include "tools/lsp/hover.h"

#include <fmt/format.h>

#include <string>

#include "support/scalar.h"
#include "tools/lsp/describe.h"

namespace kdl::tools::lsp {

namespace {

std::string DeclarationHover(const FoundDeclaration& found) {
  const syntax::NameDeclaration& declaration = *found.declaration;
  std::string text = fmt::format("```kdl\n{}\n```\n", HeadText(*found.analysis, declaration));
  std::string type = TypeText(*found.analysis, declaration);
  text += type.empty() ? fmt::format("{}\n", KindText(declaration.kind))
                       : fmt::format("{}: `{}`\n", KindText(declaration.kind), type);
  for (const std::string& more :
       {SizesText(*found.analysis, declaration), DocText(*found.analysis, declaration)}) {
    if (!more.empty()) text += "\n" + more + "\n";
  }
  return text;
}

}  // namespace

Json Hover(Workspace& workspace, Document& document, const Json& params) {
  const Analysis& analysis = workspace.AnalysisOf(document);
  const syntax::NameOccurrence* occurrence =
      analysis.names.At(analysis.positions.Offset(params.at("position")));
  if (occurrence == nullptr) return nullptr;
  std::string text;
  if (auto found = workspace.Find(analysis, *occurrence)) {
    text = DeclarationHover(*found);
  } else if (occurrence->role == syntax::NameRole::Use) {
    std::string builtin = BuiltinText(occurrence->name);
    if (!builtin.empty()) text = fmt::format("`{}`: {}", occurrence->name, builtin);
    if (ScalarFromSpelling(occurrence->name))
      text = fmt::format("`{}`: an element type", occurrence->name);
  }
  if (text.empty()) return nullptr;
  return {{"contents", {{"kind", "markdown"}, {"value", text}}},
          {"range", analysis.positions.Range(occurrence->span)}};
}

}  // namespace kdl::tools::lsp
