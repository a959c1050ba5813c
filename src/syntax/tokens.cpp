#include "syntax/tokens.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/diagnostics.h"
#include "support/source.h"
#include "syntax/antlr.h"
#include "syntax/diagnostics.h"
#include "syntax/foreign_syntax.h"
#include "syntax/limits.h"

namespace kdl::syntax {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

uint32_t FirstCodePoint(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[i])); };
  if (byte(0) < 0x80) return byte(0);
  size_t length = byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  uint32_t code = byte(0) & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3F);
  return code;
}

size_t CodePointBytes(std::string_view text) {
  size_t length = 1;
  while (length < text.size() && (static_cast<uint8_t>(text[length]) & 0xC0) == 0x80) ++length;
  return length;
}

std::string HelpForUnknown(std::string_view text, std::string_view line) {
  for (std::string_view value : {"inf", "-inf", "nan"})
    if (line.starts_with(fmt::format("'{}'", value)))
      return fmt::format("write {}, without `float` and quotes", value);
  if (text == "'")
    return "use double quotes for strings, and a number for a character: 97 for the letter a";
  if (text == "$" || text == "\\" || text == "`") return {};
  if (text == "×") return "use * for multiplication";
  if (text == "“" || text == "”") return "use plain double quotes for strings: \"";
  if (text == "−" || text == "–") return "use - for minus";
  return "names contain only A to Z, a to z, 0 to 9 and _";
}

std::string_view RestOfLine(std::string_view text, size_t begin) {
  return text.substr(begin, text.find('\n', begin) - begin);
}

/// Reports unknown characters. `text` contains one or more consecutive unknown characters. The message shows
/// only the first one. `line` is the text from there to the end of the line.
void ReportUnknown(FileId file, std::string_view text, std::string_view line, uint32_t offset,
                   DiagnosticEngine& diagnostics) {
  std::string_view first = text.substr(0, CodePointBytes(text));
  uint32_t code = FirstCodePoint(first);
  Span span{file, offset, offset + static_cast<uint32_t>(text.size())};
  std::string shown =
      code < 0x20 || code == 0x7F ? "control character" : fmt::format("character '{}'", first);
  diagnostics.Report(diag::UnknownCharacter, span, shown, code)
      .Help(first == "#" ? HelpForDirective(line) : HelpForUnknown(first, line));
}

std::string HelpForNumber(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) {
    return "a hexadecimal number is 0x followed by digits 0 to 9 or a to f, such as 0x1F";
  }
  size_t suffix = text.find_first_not_of("0123456789._");
  if (suffix == std::string_view::npos) return "`_` is allowed only in integers";
  return fmt::format("remove '{}': the type of a number comes from its context, or from `as`",
                     text.substr(suffix));
}

/// What to do with a token: drop it, keep it (perhaps with another type), or stop reading the file. If the
/// token is faulty, MendWord has reported it.
enum class Mend { Drop, Keep, Stop };
Mend MendWord(const SourceManager& sources, FileId file, antlr4::CommonToken& token,
              DiagnosticEngine& diagnostics) {
  Span span = TokenSpan(file, token);
  std::string_view text = sources.text(span);
  switch (token.getType()) {
    case KdlLexer::UNKNOWN:
      ReportUnknown(file, text, RestOfLine(sources.text(file), span.begin), span.begin,
                    diagnostics);
      return Mend::Drop;
    case KdlLexer::BAD_NUMBER:
      diagnostics.Report(diag::BadNumber, span, text).Help(HelpForNumber(text));
      token.setType(KdlLexer::INT);
      return Mend::Keep;
    case KdlLexer::UNCLOSED_STRING:
      diagnostics.Report(diag::UnclosedString, span)
          .Help("end it with a double quote on the same line; write \\n for a new line");
      token.setType(KdlLexer::STRING);
      return Mend::Keep;
    case KdlLexer::UNCLOSED_COMMENT:
      diagnostics.Report(diag::UnclosedComment, Span{file, span.begin, span.begin + 2})
          .Help("end it with */");
      return Mend::Stop;
    default:
      return Mend::Keep;
  }
}

/// An open bracket, and the unfinished constructs inside it that have no brackets.
struct Level {
  size_t opener;
  size_t opener_type;
  size_t indent;      ///< the indentation of the line with the bracket
  size_t ifs = 0;     ///< the number of `if` expressions since the last separator
  size_t angles = 0;  ///< the number of `<` in `f<name = …` that no `>` has closed yet

  size_t depth() const { return (opener == kNoToken ? 0 : 1) + ifs + angles; }
};

size_t OpenerOf(size_t type) {
  switch (type) {
    case KdlLexer::RPAREN:
      return KdlLexer::LPAREN;
    case KdlLexer::RBRACK:
      return KdlLexer::LBRACK;
    case KdlLexer::RBRACE:
      return KdlLexer::LBRACE;
    default:
      return 0;
  }
}

/// Pairs the brackets of a list of tokens and measures how deep they are nested, in one pass.
class BracketWalk {
 public:
  explicit BracketWalk(Lexed& lexed) : lexed_(lexed) {
    levels_.push_back({kNoToken, 0, 0});
    lexed_.opener.assign(lexed_.tokens.size(), kNoToken);
  }

  /// Returns the first token that is nested deeper than the limit, if there is one.
  std::optional<size_t> FindTooDeep() {
    for (size_t i = 0; i < lexed_.tokens.size(); ++i) {
      if (lexed_.tokens[i]->getChannel() != antlr4::Token::DEFAULT_CHANNEL) continue;
      Visit(i, lexed_.tokens[i]->getType());
      if (depth_ > kMaxNesting) return i;
    }
    return std::nullopt;
  }

 private:
  void Visit(size_t index, size_t type) {
    lexed_.opener[index] = levels_.back().opener;
    NoteLine(index);
    size_t opener_type = OpenerOf(type);
    if (opener_type != 0) {
      Close(opener_type, index);
      if (type == KdlLexer::RBRACE) EndClause();
      return;
    }
    switch (type) {
      case KdlLexer::LBRACE:
        EndClause();
        [[fallthrough]];
      case KdlLexer::LPAREN:
      case KdlLexer::LBRACK:
        levels_.push_back({index, type, line_indent_});
        ++depth_;
        break;
      case KdlLexer::COMMA:
      case KdlLexer::SEMI:
        EndClause();
        break;
      case KdlLexer::IF:
        Deepen(levels_.back().ifs);
        break;
      case KdlLexer::LT:
        if (TypeAt(index + 2) == KdlLexer::ASSIGN) Deepen(levels_.back().angles);
        break;
      case KdlLexer::GT:
        if (levels_.back().angles > 0) {
          --levels_.back().angles;
          --depth_;
        }
        break;
      default:
        break;
    }
  }

  void NoteLine(size_t index) {
    size_t line = lexed_.tokens[index]->getLine();
    if (line != line_) line_indent_ = lexed_.tokens[index]->getCharPositionInLine();
    line_ = line;
  }

  void Deepen(size_t& count) {
    ++count;
    ++depth_;
  }

  void EndClause() {
    Level& level = levels_.back();
    depth_ -= level.ifs + level.angles;
    level.ifs = level.angles = 0;
  }

  /// Closes the bracket that matches the closing bracket at `index`, and the unclosed brackets inside it. A
  /// closing brace also closes parentheses and square brackets inside the braces, but a closing parenthesis
  /// or square bracket never closes a brace.
  void Close(size_t opener_type, size_t index) {
    for (size_t i = levels_.size(); i-- > 1;) {
      if (levels_[i].opener_type == opener_type) {
        bool first_on_line = lexed_.tokens[index]->getCharPositionInLine() == line_indent_;
        if (opener_type == KdlLexer::LBRACE && first_on_line && line_indent_ < levels_[i].indent) {
          lexed_.closed_further_left.push_back({levels_[i].opener, index});
        }
        while (levels_.size() > i) {
          depth_ -= levels_.back().depth();
          levels_.pop_back();
        }
        return;
      }
      if (levels_[i].opener_type == KdlLexer::LBRACE) return;
    }
  }

  size_t TypeAt(size_t index) const {
    return index < lexed_.tokens.size() ? lexed_.tokens[index]->getType() : 0;
  }

  Lexed& lexed_;
  std::vector<Level> levels_;
  size_t depth_ = 0;
  size_t line_ = 0;
  size_t line_indent_ = 0;
};

}  // namespace

Span TokenSpan(FileId file, const antlr4::Token& token) {
  auto begin = static_cast<uint32_t>(token.getStartIndex());
  if (token.getType() == antlr4::Token::EOF) return {file, begin, begin};
  return {file, begin, static_cast<uint32_t>(token.getStopIndex()) + 1};
}

bool Lex(const SourceManager& sources, FileId file, Lexed& lexed, DiagnosticEngine& diagnostics) {
  lexed.lexer.removeErrorListeners();
  if (sources.text(file).starts_with(kByteOrderMark)) lexed.input.seek(kByteOrderMark.size());
  size_t directive_line = 0;  // a line that contains `#`, as in C or a comment of Python
  for (;;) {
    std::unique_ptr<antlr4::Token> token = lexed.lexer.nextToken();
    if (token->getType() == antlr4::Token::EOF) {
      lexed.tokens.push_back(std::move(token));
      break;
    }
    auto& common = static_cast<antlr4::CommonToken&>(*token);
    size_t type = token->getType();
    if (token->getLine() == directive_line) continue;
    if (type == KdlLexer::UNKNOWN && token->getText() == "#") directive_line = token->getLine();
    bool repeated = type == KdlLexer::UNKNOWN && !lexed.faulty_lines.empty() &&
                    lexed.faulty_lines.back() == token->getLine();
    if (repeated) continue;
    Mend mend = MendWord(sources, file, common, diagnostics);
    if (mend == Mend::Stop) return false;
    if (mend == Mend::Drop || token->getType() != type)
      lexed.faulty_lines.push_back(token->getLine());
    if (mend == Mend::Keep) lexed.tokens.push_back(std::move(token));
    if (lexed.tokens.size() > kMaxTokens) {
      diagnostics.Report(diag::TooManyTokens, TokenSpan(file, *lexed.tokens.back()), kMaxTokens)
          .Help("split it into several files, and import them");
      return false;
    }
  }
  if (std::optional<size_t> deep = BracketWalk(lexed).FindTooDeep()) {
    diagnostics.Report(diag::NestedTooDeep, TokenSpan(file, *lexed.tokens[*deep]), kMaxNesting)
        .Help("give inner parts a name with `let`, or move them into a `fn`");
    return false;
  }
  return true;
}

}  // namespace kdl::syntax
