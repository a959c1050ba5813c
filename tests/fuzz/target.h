#pragma once

#include <string_view>

namespace kdl::fuzz {

/// What a fuzzer does with a text; a fault of ours ends the process. Each fuzzer defines its own.
void Run(std::string_view text);

/// How its texts are named: `.kdl` or `.kir`.
extern const std::string_view kEnding;

}  // namespace kdl::fuzz
