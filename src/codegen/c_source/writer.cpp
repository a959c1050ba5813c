#include "codegen/c_source/writer.h"

#include <bit>
#include <cctype>
#include <string>

#include "ir/op_table.h"

// Types and names of variables in the C code.

namespace kdl::codegen::c_source {

std::string_view VariableType(Scalar scalar) {
  return scalar == Scalar::Bool ? "int" : MemoryType(scalar);
}

std::string_view MemoryType(Scalar scalar) {
  return scalar == Scalar::Bool ? "uint8_t" : Info(scalar).c_type;
}

Scalar IntegerOf(int bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? Scalar::I8 : Scalar::U8;
    case 2:
      return is_signed ? Scalar::I16 : Scalar::U16;
    case 4:
      return is_signed ? Scalar::I32 : Scalar::U32;
    default:
      return is_signed ? Scalar::I64 : Scalar::U64;
  }
}

std::string VectorType(Scalar scalar, int64_t lanes, int mask_bits) {
  return scalar == Scalar::Bool ? fmt::format("kdl_m{}x{}", mask_bits, lanes)
                                : fmt::format("kdl_{}x{}", Spelling(scalar), lanes);
}

int64_t PaddedLanes(int64_t lanes) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(lanes)));
}

/// A small letter at the beginning and a number at the end distinguish these names from keywords, macros, functions,
/// and the names of the file itself.
std::string Writer::NewName(const ir::Value* value) {
  std::string base;
  if (value) {
    std::string_view text = value->name().text();
    if (text.empty() && value->def()) text = value->def()->info().spelling;
    for (char c : text) base += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  bool is_plain = !base.empty() && base[0] >= 'a' && base[0] <= 'z';
  std::string name = base.empty() ? "v" : is_plain ? base + "_" : "v_" + base + "_";
  for (size_t number = taken.size();; ++number) {
    std::string tried = fmt::format("{}{}", name, number);
    if (taken.insert(tried).second) return tried;
  }
}

std::string Writer::Type(const ir::Value* value, int mask_bits) {
  Scalar scalar = value->type()->scalar;
  if (!ir::IsVector(value->type())) return std::string(VariableType(scalar));
  return helpers.Vector(scalar, ir::Lanes(value->type()), mask_bits);
}

void Writer::Define(const ir::Value* value, std::string_view expression, int mask_bits) {
  bool is_mask = ir::IsVector(value->type()) && value->type()->scalar == Scalar::Bool;
  int bits = is_mask ? mask_bits : 0;
  std::string name = NewName(value);
  Line("const {} {} = {};", Type(value, bits), name, expression);
  values[value] = {name, bits};
}

void Writer::Refuse(const Op* op, std::string_view what) {
  if (!failure) failure = NotInC{op->loc(), std::string(kernel.base_name()), std::string(what)};
}

}  // namespace kdl::codegen::c_source
