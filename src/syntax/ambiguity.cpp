#include "syntax/ambiguity.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "support/diagnostics.h"
#include "support/source.h"
#include "syntax/antlr.h"
#include "syntax/tokens.h"

namespace kdl::syntax {

namespace {

class AmbiguityListener : public antlr4::BaseErrorListener {
 public:
  void reportAmbiguity(antlr4::Parser* parser, const antlr4::dfa::DFA& dfa, size_t start, size_t,
                       bool, const antlrcpp::BitSet&, antlr4::atn::ATNConfigSet*) override {
    const antlr4::Token& token = *parser->getTokenStream()->get(start);
    found.push_back(fmt::format("{}:{}: {}", token.getLine(), token.getCharPositionInLine() + 1,
                                parser->getRuleNames()[dfa.atnStartState->ruleIndex]));
  }

  std::vector<std::string> found;
};

}  // namespace

std::vector<std::string> FindAmbiguities(const SourceManager& sources, FileId file,
                                         DiagnosticEngine& diagnostics) {
  Lexed lexed(sources.text(file));
  if (!Lex(sources, file, lexed, diagnostics)) return {};
  antlr4::ListTokenSource source(std::move(lexed.tokens));
  antlr4::CommonTokenStream tokens(&source);
  KdlParser parser(&tokens);
  AmbiguityListener listener;
  parser.removeErrorListeners();
  parser.addErrorListener(&listener);
  parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(
      antlr4::atn::PredictionMode::LL_EXACT_AMBIG_DETECTION);
  parser.module();
  return listener.found;
}

}  // namespace kdl::syntax
