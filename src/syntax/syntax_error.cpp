#include "syntax/syntax_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>

#include "support/diagnostics.h"
#include "support/near_names.h"
#include "support/source.h"
#include "syntax/antlr.h"
#include "syntax/diagnostics.h"
#include "syntax/expected.h"
#include "syntax/foreign_syntax.h"
#include "syntax/tokens.h"

namespace kdl::syntax {

namespace {

constexpr std::array<std::string_view, 8> kItemWords = {"import",  "const", "export", "kernel",
                                                        "program", "fn",    "device", "test"};

/// The number of words of a statement or item that advice depends on.
constexpr size_t kMostWords = 100;

/// Finds the advice and the notes for a syntax error.
class Advisor {
 public:
  Advisor(const SyntaxError& error, const SourceManager& sources, FileId file, const Lexed& lexed)
      : error_(error), sources_(sources), file_(file), lexed_(lexed) {}

  /// Returns whether to report the error at the end of the previous line. This is the case if the unexpected
  /// token begins a new line, unless a whole statement or block is missing.
  bool IsAtLineEnd() const {
    return error_.previous != nullptr && error_.previous->getLine() < error_.token.getLine() &&
           !TokenIs(antlr4::Token::EOF) && !Wants(KdlLexer::LET) && !Wants(KdlLexer::KERNEL) &&
           !Wants(KdlLexer::RBRACE);
  }

  std::string Help() const {
    bool expression = Wants(KdlLexer::AUTO);
    size_t index = error_.token.getTokenIndex();
    if (std::string word = WordHelp(); !word.empty()) return word;
    if (std::string foreign = ForeignHelp(); !foreign.empty()) return foreign;
    if (TokenIs(KdlLexer::IF) && expression) {
      return "put an `if … then … else …` that is part of an expression in parentheses";
    }
    if (Wants(KdlLexer::IDENT) && !expression && IsHardWord(error_.token.getType())) {
      return fmt::format("'{}' is a keyword; choose another name", Text(error_.token));
    }
    if (index > 1 && TypeAt(index - 1) == KdlLexer::DOT && TypeAt(index - 2) == KdlLexer::INT) {
      return fmt::format("a float needs digits on both sides of the decimal point: {}.0",
                         TextAt(index - 2));
    }
    if (TokenIs(KdlLexer::DOT) && index > 0 && TypeAt(index - 1) == KdlLexer::INT) {
      return fmt::format("a float needs digits on both sides of the decimal point: {}.0",
                         TextAt(index - 1));
    }
    if (TokenIs(KdlLexer::DOT) && expression && TypeAt(index + 1) == KdlLexer::INT) {
      return fmt::format("a float needs digits on both sides of the decimal point: 0.{}",
                         TextAt(index + 1));
    }
    if (TokenIs(KdlLexer::ASSIGN) && (Wants(KdlLexer::LBRACE) || Wants(KdlLexer::THEN))) {
      return "use == to compare two values";
    }
    if (Wants(KdlLexer::LBRACK) && !expression && index > 0 && TypeAt(index - 1) == KdlLexer::EQ)
      return "use `~` to compare elements; `==` compares a counted output with a list: y == [x[i] "
             "over i]";
    if (TokenIs(KdlLexer::STAR) && index > 0 && TypeAt(index - 1) == KdlLexer::STAR)
      return "use pow(x, 2.0) for a power";
    if (TokenIs(KdlLexer::STAR) && Wants(KdlLexer::COMMA) && IsAfterType())
      return "put the sizes of a tensor after its element type: x: in f32[N]";
    if (TokenIs(KdlLexer::SHL) && !expression)
      return "launch a kernel with `spmd kernel(x, y);`; the kernel itself chooses its blocks";
    if (TokenIs(KdlLexer::PLUS) &&
        (TypeAt(index + 1) == KdlLexer::PLUS || (index > 0 && TypeAt(index - 1) == KdlLexer::PLUS)))
      return "use `+= 1`";
    if (TokenIs(KdlLexer::MINUS) && (TypeAt(index + 1) == KdlLexer::MINUS ||
                                     (index > 0 && TypeAt(index - 1) == KdlLexer::MINUS)))
      return "use `-= 1`";
    if (TokenIs(KdlLexer::COLON) && Opener() == KdlLexer::LBRACK && Wants(KdlLexer::RBRACK))
      return "use a range of a loop instead of a slice: `x[i]` for its elements, `x[i + 1 else "
             "0.0]` for the next ones";
    bool is_body =
        Wants(KdlLexer::LBRACE) && TokenIs(KdlLexer::IDENT) && error_.previous != nullptr;
    if (is_body && TypeBeforeIs({KdlLexer::RPAREN}) && IsAmongBranches(Phrase().words.front()))
      return fmt::format("put the statement in braces: {{ {} }}", RestOfStatement());
    if (TokenIs(KdlLexer::COLON) && expression)
      return "use a range for the dimension: `for j in M by 16 { … x[i, j] … }`";
    if (TokenIs(KdlLexer::CONST) && Wants(KdlLexer::LET))
      return fmt::format("inside a body, use `let`: let {} = …;", TextAt(index + 1));
    if (Text(error_.token) == "core_num" && Wants(KdlLexer::SEMI))
      return "put the number of cores first: spmd(core_num = 3) kernel(x, y);";
    if (TokenIs(KdlLexer::TILDE)) return "`~` compares two sides only in `ensures` and `expect`";
    if (TokenIs(KdlLexer::COMMA) && Wants(KdlLexer::RBRACK)) {
      return "put `else` and its value after the last index: x[i, j else v]";
    }
    if (TokenIs(KdlLexer::AT))
      return fmt::format(
          "put @{0} at the end of the loop's head: `spmd for i in N by 64 @{0} {{ … }}`",
          TextAt(index + 1));
    if (error_.previous != nullptr && TypeBeforeIs({KdlLexer::BY}) && Wants(KdlLexer::LPAREN) &&
        !expression)
      return "put an entry for each dimension in parentheses: its size, or `_` if it is not "
             "distributed, as in `by (M, _)`";
    if (TokenIs(KdlLexer::BY) && Wants(KdlLexer::ON))
      return "name a device with ranks before `by`: `on grid by (M, _)`";
    bool contract = Text(error_.token) == "requires" || Text(error_.token) == "ensures";
    if (contract && Wants(KdlLexer::LBRACE)) return "put contracts after the body of the kernel";
    if (TokenIs(KdlLexer::IDENT) && Wants(KdlLexer::ARROW)) {
      return fmt::format("put -> before the type of the result: -> {}", Text(error_.token));
    }
    return TokenIs(KdlLexer::IDENT) && Wants(KdlLexer::KERNEL) ? NearItemWord() : std::string();
  }

  /// If a bracket that was opened on another line could be closed at the error, adds a note at that bracket.
  /// However, if an inner brace is closed with less indentation than the line that opens it, adds notes at
  /// that pair of braces instead.
  void AddNotes(Diagnostic& diagnostic) const {
    size_t opener = lexed_.opener[error_.token.getTokenIndex()];
    if (opener == kNoToken || Wants(KdlLexer::LET)) return;
    const antlr4::Token& open = TokenAt(opener);
    if (!error_.expected.contains(CloserOf(open.getType()))) return;
    for (const ClosedFurtherLeft& pair : lexed_.closed_further_left) {
      if (pair.opener <= opener || pair.closer >= error_.token.getTokenIndex()) continue;
      diagnostic.Note(TokenSpan(file_, TokenAt(pair.opener)),
                      "this '{' may be the one that is not closed");
      diagnostic.Note(TokenSpan(file_, TokenAt(pair.closer)),
                      "it is closed by this '}', which is indented less");
      return;
    }
    if (open.getLine() == error_.token.getLine()) return;
    diagnostic.Note(TokenSpan(file_, open), fmt::format("to match this '{}'", Text(open)));
  }

 private:
  /// Returns advice for words that are operators in other languages, or an empty string.
  std::string WordHelp() const {
    if (error_.previous == nullptr) return {};
    std::string_view found = Text(error_.token);
    std::string_view before = Text(*error_.previous);
    if (before == "not") return "use `!` to negate a bool: !b";
    if (found == "and" || before == "and") return "use `&&` for a logical and: a && b";
    if (found == "or" || before == "or") return "use `||` for a logical or: a || b";
    if (before == "elif" || before == "elsif") return "write `else if`";
    bool ends_value = TypeBeforeIs(
        {KdlLexer::IDENT, KdlLexer::INT, KdlLexer::FLOAT, KdlLexer::RPAREN, KdlLexer::RBRACK});
    bool chooses = TokenIs(KdlLexer::IF) || TokenIs(KdlLexer::QUESTION);
    if (chooses && ends_value) return "use `if c then a else b` to choose a value";
    if (ends_value && HidesDivision())
      return "`//` starts a comment; use `/` to divide integers, which rounds down: -7 / 2 is -4";
    return {};
  }

  /// Returns advice for statements, functions and qualifiers of other languages, or an empty string.
  std::string ForeignHelp() const {
    bool in_parens = Opener() == KdlLexer::LPAREN && !TokenIs(KdlLexer::LPAREN);
    if (error_.previous != nullptr && in_parens) {
      std::string help = HelpForQualifier(Text(*error_.previous));
      if (help.empty()) help = HelpForQualifier(Text(error_.token));
      if (!help.empty()) return help;
    }
    FaultyPhrase phrase = Phrase();
    return Wants(KdlLexer::KERNEL) || Wants(KdlLexer::PROGRAM) ? HelpForForeignItem(phrase)
                                                               : HelpForForeignStatement(phrase);
  }

  /// Returns the type of the innermost bracket around the error, or 0.
  size_t Opener() const {
    size_t opener = lexed_.opener[error_.token.getTokenIndex()];
    return opener == kNoToken ? 0 : TypeAt(opener);
  }

  bool EndsPhrase(size_t type) const {
    return type == KdlLexer::SEMI || type == KdlLexer::LBRACE || type == KdlLexer::RBRACE ||
           type == antlr4::Token::EOF;
  }

  /// Returns the words of the statement or item with the error. A `;` in parentheses does not end it.
  FaultyPhrase Phrase() const {
    size_t begin = error_.token.getTokenIndex();
    auto is_outside = [&](size_t at) {
      size_t opener = lexed_.opener[at];
      return opener == kNoToken || TypeAt(opener) == KdlLexer::LBRACE;
    };
    while (begin > 0 && !(EndsPhrase(TypeAt(begin - 1)) && is_outside(begin - 1))) --begin;
    FaultyPhrase phrase;
    for (size_t at = begin; phrase.words.size() < kMostWords; ++at) {
      bool is_end = EndsPhrase(TypeAt(at)) && is_outside(at);
      if (TypeAt(at) == antlr4::Token::EOF || (is_end && at >= error_.token.getTokenIndex())) break;
      if (at == error_.token.getTokenIndex()) phrase.error = phrase.words.size();
      if (TokenAt(at).getChannel() == antlr4::Token::DEFAULT_CHANNEL)
        phrase.words.push_back(TextAt(at));
    }
    return phrase;
  }

  static bool IsAmongBranches(std::string_view word) { return word == "if" || word == "while"; }

  /// Returns the text from the error up to and including the next `;`.
  std::string_view RestOfStatement() const {
    size_t begin = TokenSpan(file_, error_.token).begin;
    std::string_view rest = sources_.text(file_).substr(begin);
    return rest.substr(0, std::min(rest.find_first_of(";\n"), rest.size() - 1) + 1);
  }

  bool TypeBeforeIs(std::initializer_list<size_t> types) const {
    return std::ranges::find(types, error_.previous->getType()) != types.end();
  }

  /// Returns whether the previous token is followed by a comment that contains the rest of a statement,
  /// because `//` was meant as a division.
  bool HidesDivision() const {
    std::string_view text = sources_.text(file_).substr(TokenSpan(file_, *error_.previous).end);
    std::string_view line = text.substr(0, text.find('\n'));
    size_t comment = line.find_first_not_of(' ');
    return comment != std::string_view::npos && line.substr(comment).starts_with("//") &&
           line.find(';') != std::string_view::npos;
  }

  bool TokenIs(size_t type) const { return error_.token.getType() == type; }
  bool Wants(size_t type) const { return error_.expected.contains(type); }
  const antlr4::Token& TokenAt(size_t index) const {
    return *error_.parser.getTokenStream()->get(index);
  }
  size_t TypeAt(size_t index) const { return TokenAt(index).getType(); }
  std::string_view Text(const antlr4::Token& token) const {
    return sources_.text(TokenSpan(file_, token));
  }
  std::string_view TextAt(size_t index) const { return Text(TokenAt(index)); }

  /// Returns whether the error comes after a type, as in `x: f32` or `x: in f32`, and not inside a product.
  bool IsAfterType() const {
    size_t index = error_.token.getTokenIndex();
    return index > 1 && TypeAt(index - 1) == KdlLexer::IDENT &&
           (TypeAt(index - 2) == KdlLexer::COLON || TypeAt(index - 3) == KdlLexer::COLON);
  }

  static size_t CloserOf(size_t opener) {
    if (opener == KdlLexer::LBRACE) return KdlLexer::RBRACE;
    return opener == KdlLexer::LBRACK ? KdlLexer::RBRACK : KdlLexer::RPAREN;
  }

  std::string NearItemWord() const {
    std::string_view near = NearestName(Text(error_.token), kItemWords);
    return near.empty() ? std::string() : fmt::format("did you mean '{}'?", near);
  }

  const SyntaxError& error_;
  const SourceManager& sources_;
  FileId file_;
  const Lexed& lexed_;
};

}  // namespace

void ReportSyntaxError(const SyntaxError& error, const SourceManager& sources, FileId file,
                       const Lexed& lexed, DiagnosticEngine& diagnostics) {
  Advisor advisor(error, sources, file, lexed);
  auto found = [&](const antlr4::Token& token) {
    return DescribeFound(token, sources.text(TokenSpan(file, token)));
  };
  std::string expected = DescribeExpected(error.parser, error.expected);
  Span span = TokenSpan(file, error.token);
  Diagnostic* diagnostic = nullptr;
  if (advisor.IsAtLineEnd()) {
    span.begin = span.end = TokenSpan(file, *error.previous).end;
    diagnostic = &diagnostics.Report(diag::MissingAfter, span, expected, found(*error.previous));
  } else {
    // If the file ends too early, reports the error at the last token, not on the line after it.
    bool at_end = error.token.getType() == antlr4::Token::EOF && error.previous != nullptr;
    if (at_end) span.begin = span.end = TokenSpan(file, *error.previous).end;
    diagnostic = &diagnostics.Report(diag::Unexpected, span, found(error.token), expected);
  }
  diagnostic->Help(advisor.Help());
  advisor.AddNotes(*diagnostic);
}

}  // namespace kdl::syntax
