#pragma once

#include <string>
#include <string_view>

#include "syntax/antlr.h"

namespace kdl::syntax {

/// Describes a token that was found, in the user's terms: `'x'`, `a string`, `the end of the file`.
std::string DescribeFound(const antlr4::Token& token, std::string_view text);

/// Describes the expected tokens as a few alternatives, such as `',' or ')'` or `an expression`.
std::string DescribeExpected(const antlr4::Parser& parser,
                             const antlr4::misc::IntervalSet& expected);

/// Returns the tokens that would have been possible where a prediction over several tokens failed.
antlr4::misc::IntervalSet ViableTokens(antlr4::Parser& parser,
                                       const antlr4::NoViableAltException& failure);

/// Returns whether the token is a keyword that cannot be used as a name.
bool IsHardWord(size_t token_type);

}  // namespace kdl::syntax
