#pragma once

#include "support/diagnostics.h"
#include "support/source.h"
#include "syntax/antlr.h"
#include "syntax/tokens.h"

namespace kdl::syntax {

/// A token where it cannot stand.
struct SyntaxError {
  antlr4::Parser& parser;
  antlr4::Token& token;
  antlr4::Token* previous;  ///< null for the first
  antlr4::misc::IntervalSet expected;
};

/// Says what was found and what could stand there, where the bracket was opened that is not closed,
/// and what to write for mistakes that are often made.
void ReportSyntaxError(const SyntaxError& error, const SourceManager& sources, FileId file,
                       const Lexed& lexed, DiagnosticEngine& diagnostics);

}  // namespace kdl::syntax
