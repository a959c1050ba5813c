#include "syntax/expected.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sys/types.h>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "syntax/antlr.h"

namespace kdl::syntax {

namespace {

using antlr4::misc::IntervalSet;
using P = KdlParser;

constexpr size_t kMaxAlternatives = 5;

/// A phrase that describes all tokens with which a rule can begin.
struct Group {
  size_t rule;
  /// If this token is expected, all tokens of the rule are expected.
  size_t token;
  /// The phrase is not used if one of these tokens is expected, too.
  std::array<size_t, 2> nowhere;
  const char* words;
};

// The order matters: a token that an earlier group covers is not considered again.
constexpr Group kGroups[] = {
    {P::RuleItem, P::KERNEL, {}, "`kernel`, `program`, `fn` or another item"},
    {P::RuleStmt, P::LET, {}, "a statement"},
    {P::RuleExpr, P::AUTO, {}, "an expression"},
    {P::RuleType, P::LPAREN, {P::SEMI, P::FOR}, "a type"},
    {P::RuleName, P::IDENT, {}, "a name"},
};

IntervalSet FirstTokens(const antlr4::atn::ATN& atn, size_t rule) {
  return atn.nextTokens(atn.ruleToStartState[rule]);
}

struct TokenRange {
  size_t first;
  size_t last;
};

// Tokens that can follow any expression, described as "an operator".
constexpr TokenRange kOperators[] = {{P::OROR, P::PERCENT},  {P::AS, P::AS},
                                     {P::TO, P::TO},         {P::DOT, P::DOT},
                                     {P::LPAREN, P::LPAREN}, {P::LBRACK, P::LBRACK}};

// Tokens that can follow a name or a call. Listing them is of little help where other tokens are also
// expected.
constexpr TokenRange kSuffixes[] = {
    {P::LPAREN, P::LPAREN}, {P::LBRACK, P::LBRACK}, {P::DOT, P::DOT}, {P::LT, P::LT}};

// Compound assignment operators. In a message, `=` represents all of them.
constexpr TokenRange kAssignTokens[] = {{P::PLUS_ASSIGN, P::CARET_ASSIGN}, {P::MAX, P::MIN}};

template <size_t N>
IntervalSet Without(const IntervalSet& set, const TokenRange (&ranges)[N]) {
  IntervalSet gone;
  for (const TokenRange& range : ranges) {
    gone.add(static_cast<ssize_t>(range.first), static_cast<ssize_t>(range.last));
  }
  return set.subtract(gone);
}

/// Returns the token as it is written, or a description of its kind.
std::string Quoted(const antlr4::Parser& parser, size_t type) {
  std::string literal = parser.getVocabulary().getLiteralName(type);
  if (!literal.empty()) return literal;
  return type == P::STRING ? "a string in double quotes" : "a number";
}

}  // namespace

std::string DescribeFound(const antlr4::Token& token, std::string_view text) {
  switch (token.getType()) {
    case antlr4::Token::EOF:
      return "the end of the file";
    case P::STRING:
      return "a string";
    default:
      return fmt::format("'{}'", text.substr(0, 60));
  }
}

std::string DescribeExpected(const antlr4::Parser& parser, const IntervalSet& expected) {
  const antlr4::atn::ATN& atn = parser.getATN();
  IntervalSet rest = expected;
  std::vector<std::string> words;
  for (const Group& group : kGroups) {
    bool named = group.rule == P::RuleItem || rest.contains(size_t{P::IDENT});
    if (!named || !rest.contains(group.token)) continue;
    if (rest.contains(group.nowhere[0]) || rest.contains(group.nowhere[1])) continue;
    words.emplace_back(group.words);
    rest = rest.subtract(FirstTokens(atn, group.rule));
  }
  bool operators = rest.contains(size_t{P::STAR});
  if (operators) rest = Without(rest, kOperators);
  if (rest.contains(size_t{P::PLUS_ASSIGN})) rest = Without(rest, kAssignTokens);
  if (rest.contains(size_t{P::LBRACK}) && rest.contains(size_t{P::DOT})) {
    rest = Without(rest, kSuffixes);
  }
  bool end = rest.contains(antlr4::Token::EOF);
  if (end) rest = rest.subtract(IntervalSet::of(static_cast<ssize_t>(antlr4::Token::EOF)));
  if (rest.size() > 1 || !words.empty())
    rest = rest.subtract(IntervalSet::of(P::AT)).subtract(IntervalSet::of(P::IS));
  // Lists punctuation before keywords, because a missing token is more often punctuation.
  for (bool signs : {true, false}) {
    for (ssize_t type : rest.toList()) {
      if ((type > P::IS) != signs) continue;
      std::string word = Quoted(parser, static_cast<size_t>(type));
      if (words.empty() || words.back() != word) words.push_back(std::move(word));
    }
  }
  if (operators && words.empty()) words.emplace_back("an operator");
  if (end && words.empty()) words.emplace_back("the end of the file");
  if (words.size() > kMaxAlternatives) words.resize(kMaxAlternatives);
  if (words.size() < 2) return words.empty() ? std::string("something else") : words.front();
  std::string last = std::move(words.back());
  words.pop_back();
  return fmt::format("{} or {}", fmt::join(words, ", "), last);
}

IntervalSet ViableTokens(antlr4::Parser& parser, const antlr4::NoViableAltException& failure) {
  antlr4::Token* start = failure.getStartToken();
  antlr4::Token* offending = failure.getOffendingToken();
  const antlr4::atn::ATN& atn = parser.getATN();
  auto* decision = dynamic_cast<antlr4::atn::DecisionState*>(atn.states[parser.getState()]);
  if (start->getTokenIndex() == offending->getTokenIndex() || decision == nullptr) {
    return parser.getExpectedTokens();
  }
  // Runs the prediction again with each token in place of the offending token. A token is viable if the
  // prediction gets past it.
  std::vector<std::unique_ptr<antlr4::Token>> tokens;
  antlr4::TokenStream* input = parser.getTokenStream();
  for (size_t i = start->getTokenIndex(); i <= offending->getTokenIndex(); ++i) {
    if (input->get(i)->getChannel() == antlr4::Token::DEFAULT_CHANNEL) {
      tokens.push_back(std::make_unique<antlr4::CommonToken>(input->get(i)));
    }
  }
  size_t place = tokens.size() - 1;
  antlr4::ListTokenSource source(std::move(tokens));
  antlr4::CommonTokenStream stream(&source);
  stream.fill();
  auto* tried = static_cast<antlr4::CommonToken*>(stream.get(place));
  auto* simulator = parser.getInterpreter<antlr4::atn::ParserATNSimulator>();
  IntervalSet viable;
  for (size_t type = 1; type <= P::NOT; ++type) {
    tried->setType(type);
    stream.seek(0);
    try {
      simulator->adaptivePredict(&stream, static_cast<size_t>(decision->decision),
                                 parser.getContext());
      viable.add(static_cast<ssize_t>(type));
    } catch (const antlr4::NoViableAltException& e) {
      if (e.getOffendingToken()->getTokenIndex() > place) viable.add(static_cast<ssize_t>(type));
    }
  }
  return viable;
}

bool IsHardWord(size_t token_type) { return token_type >= P::IMPORT && token_type <= P::FALSE; }

}  // namespace kdl::syntax
