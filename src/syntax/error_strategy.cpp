#include "syntax/error_strategy.h"

#include <algorithm>
#include <string>
#include <utility>

#include "syntax/diagnostics.h"
#include "syntax/expected.h"

namespace kdl::syntax {

namespace {

constexpr size_t kMaxErrors = 50;

bool StartsItem(size_t type) { return type >= KdlLexer::IMPORT && type <= KdlLexer::FN; }

/// Hard words that only begin statements.
bool StartsStatement(size_t type) {
  switch (type) {
    case KdlLexer::LET:
    case KdlLexer::VAR:
    case KdlLexer::FOR:
    case KdlLexer::WHILE:
    case KdlLexer::SPMD:
    case KdlLexer::SYNC:
    case KdlLexer::BREAK:
    case KdlLexer::CONTINUE:
    case KdlLexer::RETURN:
    case KdlLexer::ATOMIC:
      return true;
    default:
      return false;
  }
}

size_t CloserOf(size_t opener) {
  if (opener == KdlLexer::LBRACE) return KdlLexer::RBRACE;
  return opener == KdlLexer::LBRACK ? KdlLexer::RBRACK : KdlLexer::RPAREN;
}

bool IsFirstOnLine(antlr4::TokenStream& input) {
  antlr4::Token* previous = input.LT(-1);
  return previous == nullptr || previous->getLine() < input.LT(1)->getLine();
}

/// Whether dropping the token cannot take the end or the start of a construct with it.
bool IsDroppable(size_t type) {
  return type != antlr4::Token::EOF && type != KdlLexer::LBRACE && type != KdlLexer::RBRACE &&
         type != KdlLexer::SEMI && !StartsItem(type) && !StartsStatement(type);
}

bool CanDrop(antlr4::Parser& parser) {
  antlr4::TokenStream& input = *parser.getTokenStream();
  return IsDroppable(input.LA(1)) && parser.getExpectedTokens().contains(input.LA(2));
}

bool CanAssume(antlr4::Parser& parser) {
  const antlr4::atn::ATN& atn = parser.getATN();
  antlr4::atn::ATNState* after = atn.states[parser.getState()]->transitions[0]->target;
  return atn.nextTokens(after, parser.getContext()).contains(parser.getTokenStream()->LA(1));
}

}  // namespace

void ErrorStrategy::reportError(antlr4::Parser* parser, const antlr4::RecognitionException& error) {
  if (panicking_) return;
  if (const auto* failure = dynamic_cast<const antlr4::NoViableAltException*>(&error)) {
    Report(*parser, *failure->getOffendingToken(), ViableTokens(*parser, *failure));
  } else {
    Report(*parser, *error.getOffendingToken(), error.getExpectedTokens());
  }
  panicking_ = true;
}

void ErrorStrategy::recover(antlr4::Parser* parser, std::exception_ptr) {
  // The rule is left as it is; the loop over statements or items skips what remains of it.
  antlr4::TokenStream& input = *parser->getTokenStream();
  if (input.index() != recovered_at_) {
    recovered_at_ = input.index();
    recovered_states_.clear();
  }
  bool again = !recovered_states_.insert(parser->getState()).second;
  if (again && input.LA(1) != antlr4::Token::EOF) parser->consume();
}

antlr4::Token* ErrorStrategy::recoverInline(antlr4::Parser* parser) {
  if (panicking_) throw antlr4::InputMismatchException(parser);
  antlr4::Token& token = *parser->getCurrentToken();
  if (CanDrop(*parser)) {
    Report(*parser, token, parser->getExpectedTokens());
    parser->consume();
    antlr4::Token* matched = parser->getCurrentToken();
    parser->consume();
    return matched;
  }
  if (CanAssume(*parser)) {
    Report(*parser, token, parser->getExpectedTokens());
    return getMissingSymbol(parser);
  }
  throw antlr4::InputMismatchException(parser);
}

void ErrorStrategy::sync(antlr4::Parser* parser) {
  const antlr4::atn::ATN& atn = parser->getATN();
  const IntervalSet& next = atn.nextTokens(atn.states[parser->getState()]);
  size_t rule = parser->getContext()->getRuleIndex();
  if (rule == KdlParser::RuleBlock || rule == KdlParser::RuleModule) {
    SyncLoop(*parser, next, rule == KdlParser::RuleBlock);
    return;
  }
  antlr4::TokenStream& input = *parser->getTokenStream();
  if (panicking_ || next.contains(antlr4::Token::EPSILON) || next.contains(input.LA(1))) return;
  if (passed_at_ != input.index()) passed_ = IntervalSet();
  passed_at_ = input.index();
  passed_.addAll(parser->getExpectedTokens());
}

void ErrorStrategy::SyncLoop(antlr4::Parser& parser, const IntervalSet& next, bool in_block) {
  antlr4::TokenStream& input = *parser.getTokenStream();
  auto skip = [&] { in_block ? SkipStatement(parser) : SkipItem(parser); };
  if (panicking_) {
    // A construct that has come to its own end past the error needs no skip.
    size_t previous = input.LA(-1);
    bool ended = input.index() > error_tokens_.back() &&
                 (previous == KdlLexer::SEMI || previous == KdlLexer::RBRACE ||
                  previous == KdlLexer::LBRACE);
    if (!ended) skip();
    panicking_ = false;
  }
  while (!next.contains(input.LA(1))) {
    // A brace that is missing here is reported when the block looks for it.
    if (in_block && (input.LA(1) == antlr4::Token::EOF || StartsItem(input.LA(1)))) return;
    Report(parser, *input.LT(1), parser.getExpectedTokens());
    skip();
  }
}

/// To behind the `;` or block that ends the statement, or before the next statement or item.
void ErrorStrategy::SkipStatement(antlr4::Parser& parser) {
  antlr4::TokenStream& input = *parser.getTokenStream();
  bool must_move = input.index() == last_skip_;
  size_t braces = 0;
  for (bool done = false; !done; must_move = false) {
    size_t type = input.LA(1);
    if (type == antlr4::Token::EOF || StartsItem(type)) break;
    if (type == KdlLexer::RBRACE && braces == 0) break;
    if (!must_move && braces == 0 && StartsStatement(type) && IsFirstOnLine(input)) break;
    parser.consume();
    if (type == KdlLexer::LBRACE) ++braces;
    if (type == KdlLexer::RBRACE) done = --braces == 0 && input.LA(1) != KdlLexer::ELSE;
    if (type == KdlLexer::SEMI) done = braces == 0;
  }
  last_skip_ = input.index();
}

void ErrorStrategy::SkipItem(antlr4::Parser& parser) {
  antlr4::TokenStream& input = *parser.getTokenStream();
  bool must_move = input.index() == last_skip_;
  size_t braces = 0;
  for (;; must_move = false) {
    size_t type = input.LA(1);
    if (type == antlr4::Token::EOF) break;
    bool soft =
        braces == 0 && IsFirstOnLine(input) &&
        (type == KdlLexer::DEVICE || (type == KdlLexer::TEST && input.LA(2) == KdlLexer::STRING));
    if (!must_move && (StartsItem(type) || soft)) break;
    parser.consume();
    if (type == KdlLexer::LBRACE) ++braces;
    if (type == KdlLexer::RBRACE && braces > 0) --braces;
  }
  last_skip_ = input.index();
}

void ErrorStrategy::Report(antlr4::Parser& parser, antlr4::Token& token, IntervalSet expected) {
  size_t index = token.getTokenIndex();
  bool repeated = !error_tokens_.empty() && error_tokens_.back() == index;
  error_tokens_.push_back(index);
  antlr4::Token* previous = nullptr;
  for (size_t i = index; i-- > 0 && previous == nullptr;) {
    antlr4::Token* before = parser.getTokenStream()->get(i);
    if (before->getChannel() == antlr4::Token::DEFAULT_CHANNEL) previous = before;
  }
  auto faulty = [&](const antlr4::Token* t) {
    return t != nullptr && std::find(lexed_.faulty_lines.begin(), lexed_.faulty_lines.end(),
                                     t->getLine()) != lexed_.faulty_lines.end();
  };
  if (repeated || faulty(&token) || faulty(previous)) return;
  if (++reported_ > kMaxErrors) {
    diagnostics_.Report(diag::TooManyErrors, SpanOf(file_, token), kMaxErrors);
    throw antlr4::ParseCancellationException();
  }
  if (passed_at_ == index) expected.addAll(passed_);

  std::string words = DescribeExpected(parser, expected);
  bool ends_line = previous != nullptr && previous->getLine() < token.getLine() &&
                   !expected.contains(size_t{KdlLexer::LET}) &&
                   !expected.contains(size_t{KdlLexer::KERNEL}) &&
                   token.getType() != antlr4::Token::EOF;
  if (ends_line) {
    Span span = SpanOf(file_, *previous);
    span.begin = span.end;
    std::string after = DescribeFound(*previous, Text(*previous));
    AddAdvice(parser, token, expected, diagnostics_.Report(diag::MissingAfter, span, words, after));
  } else {
    std::string found = DescribeFound(token, Text(token));
    AddAdvice(parser, token, expected,
              diagnostics_.Report(diag::Unexpected, SpanOf(file_, token), found, words));
  }
}

void ErrorStrategy::AddAdvice(antlr4::Parser& parser, antlr4::Token& token,
                              const IntervalSet& expected, Diagnostic& diagnostic) const {
  size_t type = token.getType();
  bool wants_name = expected.contains(size_t{KdlLexer::IDENT});
  bool wants_expression = wants_name && expected.contains(size_t{KdlLexer::AUTO});
  auto text_at = [&](size_t index) { return Text(*parser.getTokenStream()->get(index)); };
  auto type_at = [&](size_t index) { return parser.getTokenStream()->get(index)->getType(); };
  size_t index = token.getTokenIndex();

  if (type == KdlLexer::IF && wants_expression) {
    diagnostic.Help("put an `if … then … else …` inside an expression into parentheses");
  } else if (wants_name && !wants_expression && IsHardWord(type)) {
    diagnostic.Help(
        fmt::format("'{}' is a word of the language; choose another name", Text(token)));
  } else if (type == KdlLexer::DOT && index > 0 && type_at(index - 1) == KdlLexer::INT) {
    diagnostic.Help(
        fmt::format("a float has digits on both sides of the point: {}.0", text_at(index - 1)));
  } else if (type == KdlLexer::DOT && wants_expression && type_at(index + 1) == KdlLexer::INT) {
    diagnostic.Help(
        fmt::format("a float has digits on both sides of the point: 0.{}", text_at(index + 1)));
  } else if (type == KdlLexer::ASSIGN && !expected.contains(size_t{KdlLexer::ASSIGN}) &&
             !wants_name) {
    diagnostic.Help("two values are compared with ==");
  } else if (type == KdlLexer::TILDE) {
    diagnostic.Help("`~` relates two sides in `ensures` and `expect` only");
  }

  size_t opener = lexed_.opener[index];
  if (opener == kNoToken) return;
  antlr4::Token& open = *parser.getTokenStream()->get(opener);
  if (expected.contains(CloserOf(open.getType())) && open.getLine() != token.getLine()) {
    diagnostic.Note(SpanOf(file_, open), fmt::format("'{}' opened here", Text(open)));
  }
}

}  // namespace kdl::syntax
