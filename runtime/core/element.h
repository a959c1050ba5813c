// Properties of element types, from scalars.def.
#pragma once

#include <cstdint>
#include <string_view>

#include "kdl/kernel_abi.h"

namespace kdl::runtime {

struct ElementFacts {
  std::string_view name;  // as written in the source, such as "f32"
  std::uint16_t bits;     // size in memory in bits
};

// Returns the properties of an element type, or null if the code is unknown.
inline const ElementFacts* FactsOfElement(std::uint8_t code) {
  switch (code) {
#define KDL_SCALAR(Name, ID, spelling, code, bits, Group, ctype, comment) \
  case code: {                                                            \
    static constexpr ElementFacts kFacts = {#spelling, bits};             \
    return &kFacts;                                                       \
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

}  // namespace kdl::runtime
