#pragma once

#include "support/diagnostics.h"
#include "support/source.h"
#include "syntax/antlr.h"
#include "syntax/tokens.h"

namespace kdl::syntax {

/// An unexpected token.
struct SyntaxError {
  antlr4::Parser& parser;
  antlr4::Token& token;
  antlr4::Token* previous;  ///< the token before `token`; null if there is none
  antlr4::misc::IntervalSet expected;
};

/// Reports what was found and what was expected. Notes where an unclosed bracket was opened, and
/// gives advice for common mistakes.
void ReportSyntaxError(const SyntaxError& error, const SourceManager& sources, FileId file,
                       const Lexed& lexed, DiagnosticEngine& diagnostics);

}  // namespace kdl::syntax
