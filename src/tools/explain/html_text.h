#pragma once

#include <string>
#include <string_view>

namespace kdl::tools {

/// Escapes text for use between tags and in attributes.
std::string Escaped(std::string_view text);

/// Returns a page with a title, which is also its first heading. `style` adds to the style of all pages. The title and the
/// style must be escaped.
std::string HtmlDocument(std::string_view title, std::string_view style, std::string_view body);

}  // namespace kdl::tools
