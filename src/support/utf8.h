#pragma once

#include <cstddef>
#include <string_view>

namespace kdl {

/// Returns the length in bytes of the UTF-8 sequence at the start of `text`, or 0 if the sequence is
/// invalid. Overlong forms, surrogates and code points above U+10FFFF are invalid.
size_t Utf8Length(std::string_view text);

}  // namespace kdl
