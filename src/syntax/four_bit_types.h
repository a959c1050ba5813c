#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kdl::syntax {

/// The element types of which each byte of memory contains two. They exist only in memory: an element that has
/// been loaded is a value of a wider type.
enum class FourBitType : uint8_t {
  I4,      ///< two's complement
  U4,      ///< unsigned
  F4E2M1,  ///< a sign, 2 bits of exponent and 1 of fraction; neither infinities nor NaN
};

std::string_view Spelling(FourBitType type);
std::optional<FourBitType> FourBitFromSpelling(std::string_view spelling);

}  // namespace kdl::syntax
