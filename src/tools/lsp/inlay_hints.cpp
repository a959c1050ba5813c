#include "tools/lsp/inlay_hints.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/size.h"
#include "tools/lsp/describe.h"

namespace kdl::tools::lsp {

namespace {

using syntax::NameDeclaration;
using syntax::NameKind;

constexpr int kTypeHint = 1;

/// Returns the hint `: f32[i, j]` after a `let` or `var` without a type.
std::string TypeHint(const Analysis& analysis, const NameDeclaration& declaration) {
  std::string_view rest =
      analysis.text(Span{declaration.span.file, declaration.span.end, declaration.whole.end});
  size_t next = rest.find_first_not_of(" \t\r\n");
  if (next == std::string_view::npos || rest[next] != '=') return {};
  std::string type = TypeText(analysis, declaration);
  return type.empty() ? "" : ": " + type;
}

/// Returns the hint ` in K` after an index name of a contract.
std::string ExtentHint(const Analysis& analysis, const NameDeclaration& declaration) {
  for (const sema::Entity* entity : analysis.Entities(declaration)) {
    if (entity->range.domain != nullptr) return " in " + ToString(entity->range.domain);
  }
  return {};
}

/// Returns the hint ` = 64` after an integer parameter that the compiler chooses, with the values for all levels and
/// instances.
std::string TileHint(const Document& document, const Analysis& analysis,
                     const NameDeclaration& declaration) {
  std::string_view kernel = analysis.Declaration(declaration.item).name;
  std::vector<std::string> values;
  for (const Json& tile : document.tiles) {
    auto instance = tile["kernel"].get<std::string>();
    bool is_of = instance == kernel || instance.starts_with(std::string(kernel) + ".");
    if (!is_of || tile["name"] != declaration.name) continue;
    std::string value = fmt::format("{}", tile["value"].get<int64_t>());
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  return values.empty() ? "" : fmt::format(": {} on this machine", fmt::join(values, " or "));
}

}  // namespace

Json InlayHints(Workspace& workspace, Document& document, const Json& params) {
  const Analysis& analysis = workspace.AnalysisOf(document);
  uint32_t begin = analysis.positions.Offset(params.at("range").at("start"));
  uint32_t end = analysis.positions.Offset(params.at("range").at("end"));
  Json hints = Json::array();
  for (const NameDeclaration& declaration : analysis.names.declarations) {
    if (declaration.span.begin < begin || declaration.span.end > end) continue;
    uint32_t at = declaration.span.end;
    std::string label;
    if (declaration.kind == NameKind::Let || declaration.kind == NameKind::Var)
      label = TypeHint(analysis, declaration);
    if (declaration.kind == NameKind::Index) label = ExtentHint(analysis, declaration);
    if (declaration.kind == NameKind::IntParam) {
      label = TileHint(document, analysis, declaration);
      at = declaration.whole.end;
    }
    if (!label.empty())
      hints.push_back(
          {{"position", analysis.positions.Position(at)}, {"label", label}, {"kind", kTypeHint}});
  }
  return hints;
}

}  // namespace kdl::tools::lsp
