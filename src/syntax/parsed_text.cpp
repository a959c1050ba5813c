#include "syntax/parsed_text.h"

#include <memory>
#include <utility>

#include "syntax/antlr.h"
#include "syntax/check_text.h"
#include "syntax/error_strategy.h"

namespace kdl::syntax {

namespace {

using P = KdlParser;

/// Parses in ANTLR's fast mode (SLL). Returns null on failure: the text has an error or requires the
/// full mode.
P::ModuleContext* ParseFast(P& parser) {
  parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(
      antlr4::atn::PredictionMode::SLL);
  parser.setErrorHandler(std::make_shared<antlr4::BailErrorStrategy>());
  try {
    return parser.module();
  } catch (const antlr4::ParseCancellationException&) {
    return nullptr;
  }
}

/// Parses in ANTLR's full mode (LL), which reports errors. Returns null if the parser gives up.
P::ModuleContext* ParseFull(P& parser, const std::shared_ptr<ErrorStrategy>& errors) {
  parser.reset();
  parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(
      antlr4::atn::PredictionMode::LL);
  parser.setErrorHandler(errors);
  try {
    return parser.module();
  } catch (const antlr4::ParseCancellationException&) {
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<ParsedText> ParseText(const SourceManager& sources, FileId file,
                                      DiagnosticEngine& diagnostics) {
  if (!CheckText(sources, file, diagnostics)) return nullptr;
  auto parsed = std::make_unique<ParsedText>(sources.text(file));
  Lexed& lexed = parsed->lexed;
  if (!Lex(sources, file, lexed, diagnostics)) return nullptr;
  parsed->source = std::make_unique<antlr4::ListTokenSource>(std::move(lexed.tokens));
  parsed->tokens = std::make_unique<antlr4::CommonTokenStream>(parsed->source.get());
  parsed->tokens->fill();
  parsed->parser = std::make_unique<P>(parsed->tokens.get());
  parsed->parser->removeErrorListeners();
  parsed->tree = ParseFast(*parsed->parser);
  if (parsed->tree != nullptr) return parsed;
  auto errors = std::make_shared<ErrorStrategy>(sources, file, lexed, diagnostics);
  parsed->tree = ParseFull(*parsed->parser, errors);
  if (parsed->tree == nullptr) return nullptr;
  parsed->error_tokens = errors->error_tokens();
  return parsed;
}

}  // namespace kdl::syntax
