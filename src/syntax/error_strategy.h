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

/// Handles syntax errors. Reports each error once, in the user's terms, and resumes parsing at the next
/// statement or item. If there is one token too many, drops it; if one token is missing, continues as if the
/// source contained it.
class ErrorStrategy : public antlr4::DefaultErrorStrategy {
 public:
  ErrorStrategy(const SourceManager& sources, FileId file, const Lexed& lexed,
                DiagnosticEngine& diagnostics)
      : sources_(sources), file_(file), lexed_(lexed), diagnostics_(diagnostics) {}

  /// Returns the indices of the tokens at which errors were found, including errors that were not reported.
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

  /// Whether an error has occurred in the current statement or item. No further errors are reported until the
  /// next statement or item starts.
  bool panicking_ = false;
  std::vector<size_t> error_tokens_;
  size_t reported_ = 0;
  size_t last_skip_ = kNoToken;  ///< the token at which the last skip ended
  /// The index of the token before which a missing token was last assumed.
  size_t assumed_at_ = kNoToken;

  /// The tokens that loops and optional parts would have accepted at token `passed_at_`. If a rule then fails
  /// at that token, these tokens are also listed as expected.
  size_t passed_at_ = kNoToken;
  IntervalSet passed_;

  /// The parser states that have recovered at token `recovered_at_`. A state that fails at this token a
  /// second time would fail forever, so the token is skipped.
  size_t recovered_at_ = kNoToken;
  std::set<size_t> recovered_states_;
};

}  // namespace kdl::syntax
