#include "tools/lsp/code_actions.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/lsp/diagnostics.h"

namespace kdl::tools::lsp {

namespace {

struct Edit {
  Span span;
  std::string text;
};

/// Returns the text in quotes at the beginning of a help: `write 'x as f32'`, "did you mean 'k'?".
std::optional<std::string> Suggested(std::string_view help) {
  for (std::string_view begin : {"write '", "write `", "did you mean '"}) {
    if (!help.starts_with(begin)) continue;
    char quote = begin.back();
    size_t end = help.find(quote, begin.size());
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(help.substr(begin.size(), end - begin.size()));
    // A gap in the text is for the author to fill.
    return text.find("…") == std::string::npos ? std::optional(text) : std::nullopt;
  }
  return std::nullopt;
}

/// Returns the places that the suggested text may replace, the most likely one first.
std::vector<Edit> Candidates(const Analysis& analysis, const Diagnostic& one,
                             const std::string& text) {
  std::vector<Edit> edits{{one.span, text}};
  // `write 'n as f32'` corrects an operand of the expression with the error.
  size_t cast = text.rfind(" as ");
  if (cast == std::string::npos) return edits;
  std::string operand = text.substr(0, cast);
  if (operand.starts_with('(')) operand = operand.substr(1, operand.size() - 2);
  std::string_view source = analysis.text();
  std::string_view line = analysis.positions.Line(analysis.positions.LineOf(one.span.begin));
  auto begin = static_cast<uint32_t>(line.data() - source.data());
  for (size_t at = line.find(operand); at != std::string_view::npos;
       at = line.find(operand, at + 1)) {
    auto place = begin + static_cast<uint32_t>(at);
    edits.push_back({Span{one.span.file, place, place + static_cast<uint32_t>(operand.size())},
                     fmt::format("({})", text)});
  }
  return edits;
}

/// Whether an edit removes the error and causes no other one.
bool Corrects(Workspace& workspace, const Document& document, const Analysis& analysis,
              const Edit& edit) {
  std::string text(analysis.text());
  text.replace(edit.span.begin, edit.span.end - edit.span.begin, edit.text);
  auto after = Analyze(workspace.around(), document.path, std::move(text));
  return after->session.diagnostics.error_count() < analysis.session.diagnostics.error_count();
}

Json ActionOf(const std::string& uri, const Analysis& analysis, const Edit& edit) {
  Json change{{"range", analysis.positions.Range(edit.span)}, {"newText", edit.text}};
  return {{"title", fmt::format("Write '{}'", edit.text)},
          {"kind", "quickfix"},
          {"edit", {{"changes", {{uri, Json::array({change})}}}}}};
}

}  // namespace

Json CodeActions(Workspace& workspace, Document& document, const Json& params) {
  const Analysis& analysis = workspace.AnalysisOf(document);
  uint32_t begin = analysis.positions.Offset(params.at("range").at("start"));
  uint32_t end = analysis.positions.Offset(params.at("range").at("end"));
  Json actions = Json::array();
  for (const auto& one : analysis.session.diagnostics.all()) {
    bool is_here = one->span.valid() && one->span.file == analysis.file && one->span.begin <= end &&
                   begin <= one->span.end;
    std::optional<std::string> text = is_here ? Suggested(one->help) : std::nullopt;
    if (!text) continue;
    for (const Edit& edit : Candidates(analysis, *one, *text)) {
      if (!Corrects(workspace, document, analysis, edit)) continue;
      actions.push_back(ActionOf(params.at("textDocument").at("uri"), analysis, edit));
      break;
    }
  }
  return actions;
}

}  // namespace kdl::tools::lsp
