#include "syntax/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "syntax/antlr.h"
#include "syntax/build_item.h"
#include "syntax/builder.h"
#include "syntax/parsed_text.h"
#include "syntax/tokens.h"

namespace kdl::syntax {

namespace {

/// Returns the text of the `///` lines directly above an item.
std::string DocAbove(const SourceManager& sources, FileId file, antlr4::TokenStream& tokens,
                     const antlr4::Token& first) {
  std::vector<std::string_view> lines;
  size_t line = first.getLine();
  for (size_t i = first.getTokenIndex(); i-- > 0;) {
    const antlr4::Token& token = *tokens.get(i);
    if (token.getType() != KdlLexer::DOC_COMMENT || token.getLine() + 1 != line) break;
    line = token.getLine();
    lines.push_back(sources.text(TokenSpan(file, token)).substr(3));
  }
  std::string doc;
  for (; !lines.empty(); lines.pop_back()) {
    std::string_view text = lines.back();
    if (text.starts_with(' ')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    doc += text;
    doc += '\n';
  }
  return doc;
}

/// Returns whether there is no error from the item's first token to the next item's first token, inclusive.
bool IsWhole(const std::vector<P::ItemContext*>& items, size_t i,
             const std::vector<size_t>& errors) {
  size_t first = items[i]->start->getTokenIndex();
  size_t last = i + 1 < items.size() ? items[i + 1]->start->getTokenIndex() : kNoToken;
  return std::none_of(errors.begin(), errors.end(),
                      [&](size_t index) { return index >= first && index <= last; });
}

/// Builds the tree of a text that has been parsed; null if it could not be.
ParseResult Build(const ParsedText* parsed, const SourceManager& sources, FileId file, Arena& arena,
                  Names& names, DiagnosticEngine& diagnostics, size_t errors_before) {
  auto* module = arena.Make<Module>();
  module->file = file;
  if (parsed == nullptr) return {module, false};
  Builder builder{sources, file, arena, names, diagnostics, *module, 0, false, false, {}};
  std::vector<P::ItemContext*> nodes = parsed->tree->item();
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!IsWhole(nodes, i, parsed->error_tokens)) continue;
    size_t count = diagnostics.error_count();
    const Item* item =
        BuildItem(builder, nodes[i], DocAbove(sources, file, *parsed->tokens, *nodes[i]->start));
    if (diagnostics.error_count() == count) module->items.push_back(item);
  }
  return {module, parsed->error_tokens.empty() && diagnostics.error_count() == errors_before};
}

}  // namespace

ParseResult ParseFile(const SourceManager& sources, FileId file, Arena& arena, Names& names,
                      DiagnosticEngine& diagnostics) {
  size_t errors = diagnostics.error_count();
  std::unique_ptr<ParsedText> parsed = ParseText(sources, file, diagnostics);
  return Build(parsed.get(), sources, file, arena, names, diagnostics, errors);
}

ParseResult ParseFile(const SourceManager& sources, FileId file, Arena& arena, Names& names,
                      DiagnosticEngine& diagnostics, NameIndex& index) {
  size_t errors = diagnostics.error_count();
  std::unique_ptr<ParsedText> parsed = ParseText(sources, file, diagnostics);
  if (parsed != nullptr) index = IndexNames(sources, file, *parsed);
  return Build(parsed.get(), sources, file, arena, names, diagnostics, errors);
}

}  // namespace kdl::syntax
