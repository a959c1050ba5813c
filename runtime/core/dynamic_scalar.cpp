#include "core/dynamic_scalar.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "kdl/float_format.hpp"

namespace kdl::runtime {

namespace {

enum class Group { Bool, Signed, Unsigned, Float };

struct NumberType {
  std::uint8_t code;
  int bits;
  std::string_view name;
  Group group;
  FloatFormat format;  // of floats
};

constexpr NumberType kNumberTypes[] = {
#define KDL_SCALAR(Name, ID, spelling, code, bits, Kind, ctype, comment) \
  {KDL_##ID, bits, #spelling, Group::Kind, {}},
#define KDL_FLOAT(Name, ID, spelling, code, bits, ctype, exponent, fraction, infinities, nans, \
                  saturates, comment)                                                          \
  {KDL_##ID,                                                                                   \
   bits,                                                                                       \
   #spelling,                                                                                  \
   Group::Float,                                                                               \
   {exponent, fraction, infinities != 0, nans != 0, saturates != 0}},
#include "kdl/scalars.def"
};

const NumberType& TypeOf(std::uint8_t element) {
  const NumberType* found = kNumberTypes;
  while (found->code != element) ++found;
  return *found;
}

bool IsNumber(const kdl_dynamic_arg& given) {
  return given.kind == KDL_DYNAMIC_INTEGER || given.kind == KDL_DYNAMIC_UNSIGNED ||
         given.kind == KDL_DYNAMIC_FLOAT;
}

// Returns an f64 which, rounded to an element type with at most `bits` bits, gives the same result as rounding the number
// itself once. If the type is narrower than f64, integers are rounded to odd.
double AsDouble(const kdl_dynamic_arg& given, int bits) {
  if (given.kind == KDL_DYNAMIC_FLOAT) return given.value.number;
  const bool is_negative = given.kind == KDL_DYNAMIC_INTEGER && given.value.integer < 0;
  std::uint64_t magnitude = given.value.unsigned_integer;
  if (is_negative) magnitude = 0 - magnitude;
  if (bits < 64 && magnitude >> 53 != 0)
    magnitude = (magnitude & ~std::uint64_t{0x7ff}) | (magnitude % 0x800 != 0 ? 0x800 : 0);
  const auto number = static_cast<double>(magnitude);
  return is_negative ? -number : number;
}

// A whole number has a point, so that it does not look like an integer.
std::string TextOfFloat(double number) {
  std::array<char, 40> digits = {};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  const std::string text(digits.data(), end);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

std::string Text(const kdl_dynamic_arg& given) {
  if (given.kind == KDL_DYNAMIC_INTEGER) return Concat(given.value.integer);
  if (given.kind == KDL_DYNAMIC_UNSIGNED) return Concat(given.value.unsigned_integer);
  return TextOfFloat(given.value.number);
}

double FloatOf(std::uint64_t bits, const NumberType& type) {
  if (type.bits == 64) return std::bit_cast<double>(bits);
  if (type.bits == 32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return type.format.ValueOf(bits);
}

std::uint64_t FloatBits(double number, const NumberType& type) {
  std::uint64_t bits = 0;
  if (type.bits == 64) {
    std::memcpy(&bits, &number, sizeof number);
  } else if (type.bits == 32) {
    const auto single = static_cast<float>(number);
    std::memcpy(&bits, &single, sizeof single);
  } else {
    bits = type.format.BitsOf(number);
  }
  return bits;
}

bool FitsInteger(const kdl_dynamic_arg& given, const NumberType& type) {
  const bool is_negative = given.kind == KDL_DYNAMIC_INTEGER && given.value.integer < 0;
  if (type.group == Group::Unsigned)
    return !is_negative && (type.bits == 64 || given.value.unsigned_integer >> type.bits == 0);
  const std::int64_t most = INT64_MAX >> (64 - type.bits);
  if (given.kind == KDL_DYNAMIC_UNSIGNED)
    return given.value.unsigned_integer <= static_cast<std::uint64_t>(most);
  return given.value.integer >= -most - 1 && given.value.integer <= most;
}

}  // namespace

Error ConvertNumber(const kdl_dynamic_arg& given, const kdl_param_desc& param,
                    std::uint64_t* bits) {
  const NumberType& type = TypeOf(param.element);
  if (!IsNumber(given))
    return Invalid("'", param.name, "' must be a number (", type.name, "), not a tensor");
  if (type.group == Group::Float) {
    *bits = FloatBits(AsDouble(given, type.bits), type);
    return nullptr;
  }
  if (type.group == Group::Bool) {
    const double number = AsDouble(given, 64);
    if (number != 0 && number != 1)
      return Invalid("'", param.name, "' must be a bool, not ", Text(given));
    *bits = number != 0 ? 1 : 0;
    return nullptr;
  }
  if (given.kind == KDL_DYNAMIC_FLOAT)
    return Invalid("'", param.name, "' must be an integer (", type.name, "), not ", Text(given));
  if (!FitsInteger(given, type))
    return Invalid("'", param.name, "' is ", Text(given), ", which ", type.name,
                   " cannot represent");
  *bits = given.value.unsigned_integer;
  return nullptr;
}

std::string TextOfScalar(std::uint8_t element, std::uint64_t bits) {
  const NumberType& type = TypeOf(element);
  const int unused = 64 - type.bits;
  if (type.group == Group::Bool) return (bits & 1) != 0 ? "true" : "false";
  if (type.group == Group::Signed)
    return Concat(static_cast<std::int64_t>(bits << unused) >> unused);
  if (type.group == Group::Unsigned) return Concat(bits << unused >> unused);
  return TextOfFloat(FloatOf(bits, type));
}

}  // namespace kdl::runtime
