#pragma once

#include <string>
#include <string_view>

#include "syntax/antlr.h"

namespace kdl::syntax {

/// Describes a token in the user's terms: `'x'`, `a text`, `the end of the file`.
std::string DescribeFound(const antlr4::Token& token, std::string_view text);

/// Describes the expected tokens: a few alternatives joined with "or", such as `',' or ')'` or `an
/// expression`.
std::string DescribeExpected(const antlr4::Parser& parser,
                             const antlr4::misc::IntervalSet& expected);

/// Returns the tokens that could replace the one at which a prediction over several tokens failed.
antlr4::misc::IntervalSet ViableTokens(antlr4::Parser& parser,
                                       const antlr4::NoViableAltException& failure);

/// Whether the token is a keyword that cannot be used as a name.
bool IsHardWord(size_t token_type);

}  // namespace kdl::syntax
