#pragma once

#include <string>
#include <string_view>

namespace kdl::tools {

/// Escapes text for use between tags and in attributes of HTML and SVG.
std::string Escaped(std::string_view text);

}  // namespace kdl::tools
