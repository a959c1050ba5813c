#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"
#include "support/source.h"
#include "syntax/antlr.h"
#include "syntax/tokens.h"

namespace kdl::syntax {

/// The tokens of a text and ANTLR's parse tree, which refers to them.
struct ParsedText {
  explicit ParsedText(std::string_view text) : lexed(text) {}

  Lexed lexed;  ///< without its tokens, which have moved to `tokens`
  std::unique_ptr<antlr4::ListTokenSource> source;
  std::unique_ptr<antlr4::CommonTokenStream> tokens;
  std::unique_ptr<KdlParser> parser;
  KdlParser::ModuleContext* tree = nullptr;  ///< owned by the parser
  std::vector<size_t> error_tokens;          ///< as in ErrorStrategy
};

/// Splits the text of a file into tokens and parses them. Returns null if there is no tree, because of an
/// error that has been reported. A tree can also contain reported errors.
std::unique_ptr<ParsedText> ParseText(const SourceManager& sources, FileId file,
                                      DiagnosticEngine& diagnostics);

}  // namespace kdl::syntax
