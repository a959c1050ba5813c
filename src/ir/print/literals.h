#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "support/scalar.h"

namespace kdl::ir {

/// Returns the text form of a constant: `-3`, `true`, `1.5`, `-inf`, `nan`. For a NaN with other bits than
/// those of `nan`, returns the bits, as in `0x7fc00001`. Parsing the text returns the same bits.
std::string ConstantText(Scalar scalar, uint64_t bits);

/// Returns the bits of a constant's text, zero-extended, or nothing if the scalar type has no such value.
std::optional<uint64_t> ConstantBits(Scalar scalar, std::string_view text);

/// Returns the text in double quotes, with escapes for quotes, backslashes and all bytes that are not
/// printable UTF-8.
std::string Quoted(std::string_view text);

/// Returns whether the name needs no quotes, because it consists of identifiers joined by dots.
bool IsPlainName(std::string_view name);

}  // namespace kdl::ir
