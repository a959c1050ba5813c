#pragma once

#include <string_view>

namespace kdl::fuzz {

/// Runs one text; a bug in the compiler ends the process. Each fuzzer defines its own.
void RunText(std::string_view text);

/// The extension of its texts: `.kdl` or `.kir`.
extern const std::string_view kEnding;

}  // namespace kdl::fuzz
