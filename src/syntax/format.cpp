#include "syntax/format.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "support/arena.h"
#include "support/check.h"
#include "support/names.h"
#include "syntax/format_layout.h"
#include "syntax/format_pieces.h"
#include "syntax/parse.h"
#include "syntax/parsed_text.h"

namespace kdl::syntax {

namespace {

/// Returns the pieces of a text that has been parsed without errors.
Pieces PiecesOfFile(const SourceManager& sources, FileId file) {
  DiagnosticEngine none;
  std::unique_ptr<ParsedText> parsed = ParseText(sources, file, none);
  KDL_CHECK(parsed != nullptr && parsed->error_tokens.empty(), "the text has syntax errors");
  return PiecesOf(*parsed->tree, sources.text(file));
}

/// Stops if formatting has lost or changed a token or comment, so that no file is ever damaged.
void CheckSame(const Pieces& before, const std::string& text) {
  SourceManager sources;
  FileId file = sources.Add("formatted", text);
  Pieces after = PiecesOfFile(sources, file);
  bool is_same = std::ranges::equal(before.pieces, after.pieces, {}, &Piece::text, &Piece::text);
  KDL_CHECK(is_same, "formatting changed the tokens of the file");
}

}  // namespace

std::optional<std::string> FormatFile(const SourceManager& sources, FileId file,
                                      DiagnosticEngine& diagnostics) {
  Arena arena;
  Names names;
  if (!ParseFile(sources, file, arena, names, diagnostics).ok) return std::nullopt;
  Pieces pieces = PiecesOfFile(sources, file);
  std::string text = Layout(pieces);
  CheckSame(pieces, text);
  return text;
}

}  // namespace kdl::syntax
