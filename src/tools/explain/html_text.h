#pragma once

#include <string>
#include <string_view>

namespace kdl::tools {

/// Returns a page with a title, which is also its first heading. `style` adds to the style of all pages. The title and the
/// style must be escaped. A picture in an element of the class `picture` can be wider than a small screen.
std::string HtmlDocument(std::string_view title, std::string_view style, std::string_view body);

}  // namespace kdl::tools
