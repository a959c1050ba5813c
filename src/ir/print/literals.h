#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "support/scalar.h"

namespace kdl::ir {

/// Returns a constant in the text form: `-3`, `true`, `1.5`, `-inf`, `nan`; for other NaNs the bits,
/// `0x7fc00001`. Parsing it gives the same bits.
std::string ConstantText(Scalar scalar, uint64_t bits);

/// Returns the bits of a constant's text, zero-extended, or nothing if the scalar type has no such value.
std::optional<uint64_t> ConstantBits(Scalar scalar, std::string_view text);

/// Returns the text in double quotes, with escapes for quotes, backslashes and everything that is not
/// printable UTF-8.
std::string Quoted(std::string_view text);

/// Returns whether the name needs no quotes: identifiers joined by dots.
bool IsPlainName(std::string_view name);

}  // namespace kdl::ir
