#include "syntax/error_strategy.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <utility>

#include "syntax/antlr.h"
#include "syntax/diagnostics.h"
#include "syntax/expected.h"
#include "syntax/syntax_error.h"
#include "syntax/tokens.h"

namespace kdl::syntax {

namespace {

constexpr size_t kMaxErrors = 50;

bool StartsItem(size_t type) { return type >= KdlLexer::IMPORT && type <= KdlLexer::FN; }

/// Returns whether the enclosing block has ended without its closing brace. An indented `const` is assumed to
/// be inside the block.
bool EndsBlock(const antlr4::Token& token) {
  size_t type = token.getType();
  bool is_inside = type == KdlLexer::CONST && token.getCharPositionInLine() > 0;
  return type == antlr4::Token::EOF || (StartsItem(type) && !is_inside);
}

/// Returns whether the token is a reserved keyword that can only begin a statement.
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

antlr4::Token* PreviousToken(antlr4::Parser& parser, size_t index) {
  while (index-- > 0) {
    antlr4::Token* token = parser.getTokenStream()->get(index);
    if (token->getChannel() == antlr4::Token::DEFAULT_CHANNEL) return token;
  }
  return nullptr;
}

bool IsFirstOnLine(antlr4::TokenStream& input) {
  antlr4::Token* previous = input.LT(-1);
  return previous == nullptr || previous->getLine() < input.LT(1)->getLine();
}

/// Returns whether the token can be dropped without losing the start or end of a construct.
bool IsDroppable(size_t type) {
  switch (type) {
    case antlr4::Token::EOF:
    case KdlLexer::LPAREN:
    case KdlLexer::LBRACK:
    case KdlLexer::LBRACE:
    case KdlLexer::RBRACE:
    case KdlLexer::SEMI:
      return false;
    default:
      return !StartsItem(type) && !StartsStatement(type);
  }
}

bool CanDrop(antlr4::Parser& parser) {
  antlr4::TokenStream& input = *parser.getTokenStream();
  const antlr4::atn::ATNState& state = *parser.getATN().states[parser.getState()];
  return IsDroppable(input.LA(1)) && state.transitions[0]->label().contains(input.LA(2));
}

/// Returns whether the token is in the same statement, and on the same line, as a token before which another one has been
/// assumed to be missing. An error there is probably a consequence of the assumption.
bool Follows(antlr4::Parser& parser, size_t assumed, const antlr4::Token& token) {
  if (assumed == kNoToken || assumed > token.getTokenIndex()) return false;
  antlr4::TokenStream& input = *parser.getTokenStream();
  for (size_t at = assumed; at < token.getTokenIndex(); ++at) {
    size_t type = input.get(at)->getType();
    if (type == KdlLexer::SEMI || type == KdlLexer::LBRACE || type == KdlLexer::RBRACE)
      return false;
  }
  return input.get(assumed)->getLine() == token.getLine();
}

bool CanAssume(antlr4::Parser& parser) {
  const antlr4::atn::ATN& atn = parser.getATN();
  // A block that is not opened would end with the wrong brace.
  if (parser.getExpectedTokens().contains(size_t{KdlLexer::LBRACE})) return false;
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
  // Does not recover inside the rule. The loop over statements or items skips the rest of the rule.
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
    if (!IsFirstOnLine(*parser->getTokenStream())) assumed_at_ = token.getTokenIndex();
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
    // If a construct has ended properly since the error, nothing needs to be skipped.
    size_t previous = input.LA(-1);
    bool ended = input.index() > error_tokens_.back() &&
                 (previous == KdlLexer::SEMI || previous == KdlLexer::RBRACE ||
                  previous == KdlLexer::LBRACE);
    if (!ended) skip();
    panicking_ = false;
  }
  while (!next.contains(input.LA(1))) {
    // A missing brace is reported later, when the block expects it.
    if (in_block && EndsBlock(*input.LT(1))) return;
    Report(parser, *input.LT(1), parser.getExpectedTokens());
    skip();
  }
}

/// Skips tokens up to and including the `;` or block that ends the statement, or up to the start of the
/// next statement or item.
void ErrorStrategy::SkipStatement(antlr4::Parser& parser) {
  antlr4::TokenStream& input = *parser.getTokenStream();
  bool must_move = input.index() == last_skip_;
  size_t braces = 0;
  size_t parens = 0;  // `;` does not end a statement inside of them, as in the loops of C
  for (bool done = false; !done; must_move = false) {
    size_t type = input.LA(1);
    if (EndsBlock(*input.LT(1))) break;
    if (type == KdlLexer::RBRACE && braces == 0) break;
    if (!must_move && braces == 0 && StartsStatement(type) && IsFirstOnLine(input)) break;
    parser.consume();
    if (type == KdlLexer::LBRACE) ++braces;
    if (type == KdlLexer::LPAREN) ++parens;
    if (type == KdlLexer::RPAREN && parens > 0) --parens;
    if (type == KdlLexer::RBRACE) done = --braces == 0 && input.LA(1) != KdlLexer::ELSE;
    if (type == KdlLexer::SEMI) done = braces == 0 && parens == 0;
  }
  last_skip_ = input.index();
}

void ErrorStrategy::SkipItem(antlr4::Parser& parser) {
  antlr4::TokenStream& input = *parser.getTokenStream();
  bool must_move = input.index() == last_skip_;
  size_t braces = 0;
  size_t parens = 0;  // the `const` of a parameter of C does not begin an item
  for (;; must_move = false) {
    size_t type = input.LA(1);
    if (type == antlr4::Token::EOF) break;
    bool soft =
        braces == 0 && IsFirstOnLine(input) &&
        (type == KdlLexer::DEVICE || (type == KdlLexer::TEST && input.LA(2) == KdlLexer::STRING) ||
         (type == KdlLexer::TYPES && input.LA(3) == KdlLexer::ASSIGN));
    bool starts = StartsItem(type) && (parens == 0 || type != KdlLexer::CONST);
    if (!must_move && (starts || soft)) break;
    parser.consume();
    if (type == KdlLexer::LPAREN) ++parens;
    if (type == KdlLexer::RPAREN && parens > 0) --parens;
    if (type == KdlLexer::LBRACE) ++braces;
    if (type == KdlLexer::RBRACE && braces > 0) --braces;
  }
  last_skip_ = input.index();
}

void ErrorStrategy::Report(antlr4::Parser& parser, antlr4::Token& token, IntervalSet expected) {
  size_t index = token.getTokenIndex();
  bool repeated = !error_tokens_.empty() && error_tokens_.back() == index;
  error_tokens_.push_back(index);
  SyntaxError error{parser, token, PreviousToken(parser, index), std::move(expected)};
  auto faulty = [&](const antlr4::Token* t) {
    return t != nullptr &&
           std::binary_search(lexed_.faulty_lines.begin(), lexed_.faulty_lines.end(), t->getLine());
  };
  if (repeated || Follows(parser, assumed_at_, token) || faulty(&token) || faulty(error.previous))
    return;
  if (++reported_ > kMaxErrors) {
    diagnostics_.Report(diag::TooManyErrors, TokenSpan(file_, token), kMaxErrors);
    throw antlr4::ParseCancellationException();
  }
  if (passed_at_ == index) error.expected.addAll(passed_);
  ReportSyntaxError(error, sources_, file_, lexed_, diagnostics_);
}

}  // namespace kdl::syntax
