#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"
#include "support/source.h"
#include "syntax/antlr.h"
#include "syntax/byte_stream.h"

namespace kdl::syntax {

inline constexpr size_t kNoToken = ~size_t{0};

/// A pair of braces whose closing brace is indented less than the line with the opening brace.
struct ClosedFurtherLeft {
  size_t opener;
  size_t closer;
};

/// The tokens of a file, and what the parser and its error messages need to know about them.
struct Lexed {
  explicit Lexed(std::string_view text) : input(text), lexer(&input) {}

  ByteStream input;
  KdlLexer lexer;  ///< must outlive the tokens, which point to it
  std::vector<std::unique_ptr<antlr4::Token>> tokens;
  /// For each token, the innermost bracket that is open before the token, or kNoToken if there is none.
  std::vector<size_t> opener;
  std::vector<ClosedFurtherLeft> closed_further_left;
  /// The lines with faulty tokens, in ascending order. A syntax error on one of these lines would only
  /// repeat the report about the token.
  std::vector<size_t> faulty_lines;
};

/// Splits the text into tokens, and checks the limits on their number and nesting. Returns false if the
/// tokens should not be parsed. A faulty token is reported, and then fixed or dropped so that the rest can
/// be parsed.
bool Lex(const SourceManager& sources, FileId file, Lexed& lexed, DiagnosticEngine& diagnostics);

Span TokenSpan(FileId file, const antlr4::Token& token);

}  // namespace kdl::syntax
