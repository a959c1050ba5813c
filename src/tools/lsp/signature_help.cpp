#include "tools/lsp/signature_help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sema/model/builtins.h"
#include "tools/lsp/describe.h"
#include "tools/lsp/words.h"

namespace kdl::tools::lsp {

namespace {

/// A call whose parentheses are open at a position.
struct OpenCall {
  std::string_view qualifier;  ///< the name before a dot; may be empty
  std::string_view callee;
  size_t argument = 0;
};

std::string_view WordBefore(std::string_view text, size_t& end) {
  size_t begin = end;
  while (begin > 0 && IsWordPart(text[begin - 1])) --begin;
  std::string_view word = text.substr(begin, end - begin);
  end = begin;
  return word;
}

/// Finds the call from the text alone, because an unfinished call is a syntax error.
std::optional<OpenCall> CallBefore(std::string_view text) {
  size_t depth = 0;
  size_t commas = 0;
  for (size_t i = text.size(); i-- > 0;) {
    char c = text[i];
    if (c == ';' || c == '{' || c == '}') return std::nullopt;
    if (c == ')' || c == ']') ++depth;
    if (c == ',' && depth == 0) ++commas;
    if (c != '(' && c != '[') continue;
    if (depth > 0) {
      --depth;
      continue;
    }
    if (c == '[') {
      commas = 0;
      continue;
    }
    size_t end = i;
    if (end > 0 && text[end - 1] == '>') end = std::min(end, text.rfind('<', end));
    OpenCall call;
    call.callee = WordBefore(text, end);
    call.argument = commas;
    if (end > 0 && text[end - 1] == '.') call.qualifier = WordBefore(text, --end);
    if (!call.callee.empty()) return call;
    commas = 0;
  }
  return std::nullopt;
}

std::optional<FoundDeclaration> FindFunction(Workspace& workspace, const Analysis& analysis,
                                             const OpenCall& call) {
  for (const syntax::NameDeclaration& one : analysis.names.declarations) {
    if (call.qualifier.empty() && one.name == call.callee && one.kind >= syntax::NameKind::Fn &&
        one.kind <= syntax::NameKind::Program)
      return FoundDeclaration{&analysis, &one};
    const Analysis* imported =
        one.name == call.qualifier ? workspace.Imported(analysis, one) : nullptr;
    if (imported == nullptr) continue;
    for (const syntax::NameDeclaration& item : imported->names.declarations) {
      if (item.is_exported && item.name == call.callee) return FoundDeclaration{imported, &item};
    }
  }
  return std::nullopt;
}

Json Signature(std::string label, std::string doc, const std::vector<std::string>& parameters,
               size_t active) {
  Json listed = Json::array();
  for (const std::string& parameter : parameters) listed.push_back({{"label", parameter}});
  Json signature{{"label", std::move(label)}, {"parameters", listed}};
  if (!doc.empty()) signature["documentation"] = std::move(doc);
  return {{"signatures", Json::array({signature})},
          {"activeSignature", 0},
          {"activeParameter", active}};
}

}  // namespace

Json SignatureHelp(Workspace& workspace, Document& document, const Json& params) {
  const Analysis& analysis = workspace.AnalysisOf(document);
  uint32_t offset = analysis.positions.Offset(params.at("position"));
  std::optional<OpenCall> call = CallBefore(analysis.text().substr(0, offset));
  if (!call) return nullptr;
  std::vector<std::string> parameters;
  if (auto found = FindFunction(workspace, analysis, *call)) {
    const auto& names = found->analysis->names.declarations;
    auto item = static_cast<size_t>(found->declaration - names.data());
    for (const syntax::NameDeclaration& one : names) {
      if (one.kind == syntax::NameKind::Param && one.item == item)
        parameters.push_back(HeadText(*found->analysis, one));
    }
    return Signature(HeadText(*found->analysis, *found->declaration),
                     DocText(*found->analysis, *found->declaration), parameters, call->argument);
  }
  const sema::Builtin* builtin =
      call->qualifier.empty() ? sema::FindBuiltin(call->callee) : nullptr;
  if (builtin == nullptr) return nullptr;
  constexpr std::string_view kNames[] = {"x", "y", "z"};
  for (size_t i = 0; i < builtin->arity; ++i) parameters.emplace_back(kNames[i]);
  std::string label = fmt::format("{}({})", builtin->spelling, fmt::join(parameters, ", "));
  return Signature(std::move(label), std::string(builtin->meaning), parameters, call->argument);
}

}  // namespace kdl::tools::lsp
