#pragma once

#include <cstddef>
#include <exception>
#include <set>
#include <vector>

#include "support/diagnostics.h"
#include "support/source.h"
#include "syntax/antlr.h"
#include "syntax/tokens.h"

namespace kdl::syntax {

/// What the parser does at a token that cannot stand where it stands: reports it once, in the
/// user's words, and goes on at the next statement or item. A single token too many or too few is
/// dropped or assumed.
class ErrorStrategy : public antlr4::DefaultErrorStrategy {
 public:
  ErrorStrategy(const SourceManager& sources, FileId file, const Lexed& lexed,
                DiagnosticEngine& diagnostics)
      : sources_(sources), file_(file), lexed_(lexed), diagnostics_(diagnostics) {}

  /// Tokens at which errors were found, reported or not.
  const std::vector<size_t>& error_tokens() const { return error_tokens_; }

  bool inErrorRecoveryMode(antlr4::Parser*) override { return panicking_; }
  void reportMatch(antlr4::Parser*) override {}
  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException& error) override;
  void recover(antlr4::Parser* parser, std::exception_ptr error) override;
  antlr4::Token* recoverInline(antlr4::Parser* parser) override;
  void sync(antlr4::Parser* parser) override;

 private:
  using IntervalSet = antlr4::misc::IntervalSet;

  void SyncLoop(antlr4::Parser& parser, const IntervalSet& next, bool in_block);
  void SkipStatement(antlr4::Parser& parser);
  void SkipItem(antlr4::Parser& parser);
  void Report(antlr4::Parser& parser, antlr4::Token& token, IntervalSet expected);

  const SourceManager& sources_;
  FileId file_;
  const Lexed& lexed_;
  DiagnosticEngine& diagnostics_;

  /// From an error to the next statement or item nothing is reported.
  bool panicking_ = false;
  std::vector<size_t> error_tokens_;
  size_t reported_ = 0;
  size_t last_skip_ = kNoToken;   ///< where the last skip ended
  size_t assumed_at_ = kNoToken;  ///< the token before which one was assumed last

  /// What loops and options passed over before the token at which a rule then failed.
  size_t passed_at_ = kNoToken;
  IntervalSet passed_;

  /// The places since which no token was consumed: a rule that fails twice there would fail
  /// forever.
  size_t recovered_at_ = kNoToken;
  std::set<size_t> recovered_states_;
};

}  // namespace kdl::syntax
