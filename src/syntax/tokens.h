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

/// Two braces that belong together though the second stands further left than the line of the
/// first.
struct ClosedFurtherLeft {
  size_t opener;
  size_t closer;
};

/// The words of a file, and what stands between them and a parse.
struct Lexed {
  explicit Lexed(std::string_view text) : input(text), lexer(&input) {}

  ByteStream input;
  KdlLexer lexer;  ///< tokens point to it
  std::vector<std::unique_ptr<antlr4::Token>> tokens;
  /// For each token the innermost bracket that is open before it, kNoToken outside of all.
  std::vector<size_t> opener;
  std::vector<ClosedFurtherLeft> closed_further_left;
  /// Lines whose words were at fault, ascending: what the parser says there would only repeat it.
  std::vector<size_t> faulty_lines;
};

/// Splits the text into words and applies the limits on their number and nesting. False where a
/// parse makes no sense; a word at fault is reported, mended or dropped, and the rest can be
/// parsed.
bool Lex(const SourceManager& sources, FileId file, Lexed& lexed, DiagnosticEngine& diagnostics);

Span SpanOf(FileId file, const antlr4::Token& token);

}  // namespace kdl::syntax
