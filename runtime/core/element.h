// Properties of element types, from scalars.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kdl/kernel_abi.h"

namespace kdl::runtime {

enum class ElementGroup : std::uint8_t { Bool, Signed, Unsigned, Float };

struct ElementFacts {
  std::string_view name;  // as written in the source, such as "f32"
  std::uint16_t bits;     // size in memory in bits
  ElementGroup group;
};

// Returns the properties of an element type, or null if the code is unknown.
inline const ElementFacts* FactsOfElement(std::uint8_t code) {
  switch (code) {
#define KDL_SCALAR(Name, ID, spelling, code, bits, Group, ctype, comment)          \
  case code: {                                                                     \
    static constexpr ElementFacts kFacts = {#spelling, bits, ElementGroup::Group}; \
    return &kFacts;                                                                \
  }
#include "kdl/scalars.def"
    default:
      return nullptr;
  }
}

// Returns the element's name, or "unknown".
inline std::string_view ElementName(std::uint8_t code) {
  const ElementFacts* facts = FactsOfElement(code);
  return facts == nullptr ? "unknown" : facts->name;
}

// Returns the type of integers with this sign and size, if there is one.
inline std::optional<std::uint8_t> IntegerElement(bool is_signed, std::int64_t bits) {
  const ElementGroup wanted = is_signed ? ElementGroup::Signed : ElementGroup::Unsigned;
#define KDL_SCALAR(Name, ID, spelling, code, width, Kind, ctype, comment) \
  if (ElementGroup::Kind == wanted && width == bits) return code;
#include "kdl/scalars.def"
  return std::nullopt;
}

}  // namespace kdl::runtime
