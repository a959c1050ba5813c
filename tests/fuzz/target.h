#pragma once

#include <string_view>

namespace kdl::fuzz {

/// Runs one text. A bug in the compiler ends the process. Each fuzzer defines its own RunText.
void RunText(std::string_view text);

/// The extension of the fuzzer's texts: `.kdl` or `.kir`.
extern const std::string_view kEnding;

}  // namespace kdl::fuzz
