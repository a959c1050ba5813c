#pragma once

#include <string>
#include <string_view>

#include "syntax/antlr.h"

namespace kdl::syntax {

/// What was found, in the user's words: `'x'`, `a text`, `the end of the file`.
std::string DescribeFound(const antlr4::Token& token, std::string_view text);

/// What could stand there, a few alternatives joined with "or": `',' or ')'`, `an expression`.
std::string DescribeExpected(const antlr4::Parser& parser,
                             const antlr4::misc::IntervalSet& expected);

/// What can follow the token at which a prediction over several tokens failed.
antlr4::misc::IntervalSet ViableTokens(antlr4::Parser& parser,
                                       const antlr4::NoViableAltException& failure);

/// Whether the word is one of the language that no name may be.
bool IsHardWord(size_t token_type);

}  // namespace kdl::syntax
