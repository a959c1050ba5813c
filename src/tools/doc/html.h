#pragma once

#include <string>
#include <string_view>

// HTML of texts that sources contain.
namespace kdl::tools {

/// Returns a block of code in which comments, strings, numbers and keywords of KDL are marked.
std::string CodeBlock(std::string_view code);

/// Returns the HTML of a doc comment: paragraphs, lists of lines that begin with `- `, code between backticks, and blocks of
/// code between lines of three backticks.
std::string CommentHtml(std::string_view comment);

/// Returns the HTML of a text in which code is between backticks.
std::string InlineHtml(std::string_view text);

}  // namespace kdl::tools
