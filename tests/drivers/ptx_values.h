// Converts between register bits and values of PTX's types.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "drivers/ptx_code.h"

namespace ptx {

template <class T>
T As(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
std::uint64_t Bits(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

[[noreturn]] inline void Unknown(const Instruction& i) {
  throw std::runtime_error("PTX that is not understood: op " +
                           std::to_string(static_cast<int>(i.op)) + " ." + std::string(i.how) +
                           " ." + i.type.kind + std::to_string(i.type.bits));
}

// Calls f(T{}), where T is the C++ type for a PTX type. Untyped bits are unsigned.
template <class F>
auto With(const Instruction& i, Type type, const F& f) -> decltype(f(std::uint64_t{})) {
  const bool is_signed = type.kind == 's';
  if (type.kind == 'f') {
    if (type.bits == 32) return f(float{});
    if (type.bits == 64) return f(double{});
    Unknown(i);
  }
  switch (type.bits) {
    case 8:
      return is_signed ? f(std::int8_t{}) : f(std::uint8_t{});
    case 16:
      return is_signed ? f(std::int16_t{}) : f(std::uint16_t{});
    case 32:
      return is_signed ? f(std::int32_t{}) : f(std::uint32_t{});
    case 64:
      return is_signed ? f(std::int64_t{}) : f(std::uint64_t{});
    default:
      Unknown(i);
  }
}

// Extends a narrower integer to a register: with its sign if it is signed, else with zeros.
template <class T>
std::uint64_t Extended(T value) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  else
    return Bits(value);
}

}  // namespace ptx
