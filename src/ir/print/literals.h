#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "support/scalar.h"

namespace kdl::ir {

/// A constant as it reads in the text form: `-3`, `true`, `1.5`, `-inf`, `nan`; any other NaN by
/// its bits, `0x7fc00001`. Reads back to the same bits.
std::string ConstantText(Scalar scalar, uint64_t bits);

/// The bits of a constant's text, zero-extended; nothing where the scalar has no such value.
std::optional<uint64_t> ConstantBits(Scalar scalar, std::string_view text);

/// In double quotes, with escapes for quotes, backslashes and what is no printable UTF-8.
std::string Quoted(std::string_view text);

/// Whether the name reads without quotes: identifiers joined by dots.
bool IsPlainName(std::string_view name);

}  // namespace kdl::ir
