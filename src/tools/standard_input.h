#pragma once

#include <string_view>

namespace kdl::tools {

/// The path that means standard input, and the name of its text in messages.
inline constexpr std::string_view kStandardInput = "-";
inline constexpr const char* kNameOfInput = "stdin.kdl";

}  // namespace kdl::tools
