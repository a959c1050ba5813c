#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "codegen/c_source/writer.h"

// Defines types of vectors, and the functions on them that GNU C computes as a whole. Compilers without GNU vectors use
// structs, whose lanes these functions visit in a loop.

namespace kdl::codegen::c_source {

namespace {

constexpr std::string_view kVectors =
    "// Vectors are those of GNU C, which gcc has had in full since version 12. For other "
    "compilers, "
    "or with KDL_PLAIN,\n"
    "// they are structs, also for WebAssembly without vectors, which limits the variables of a "
    "function.\n"
    "#if defined(__wasm__) && !defined(__wasm_simd128__) && !defined(KDL_PLAIN)\n"
    "#define KDL_PLAIN\n"
    "#endif\n"
    "#if (defined(__clang__) || __GNUC__ >= 12) && !defined(KDL_PLAIN)\n"
    "#define KDL_GNU_VECTORS\n"
    "#define KDL_VECTOR(name, element, lanes) \\\n"
    "  typedef element name __attribute__((vector_size(sizeof(element) * (lanes))))\n"
    "#define KDL_LANE(v, l) (v)[l]\n"
    "#define KDL_VECTOR_OF(type, ...) (type){__VA_ARGS__}\n"
    "#define KDL_LANES(type, lanes, whole, lane) { return whole; }\n"
    "#ifdef __has_builtin\n"
    "#if __has_builtin(__builtin_elementwise_sqrt)\n"
    "#define KDL_ELEMENTWISE  // and the older ones\n"
    "#endif\n"
    "#endif\n"
    "#else\n"
    "#define KDL_VECTOR(name, element, lanes) typedef struct { element lane[lanes]; } name\n"
    "#define KDL_LANE(v, l) (v).lane[l]\n"
    "#define KDL_VECTOR_OF(type, ...) (type){{__VA_ARGS__}}\n"
    "#define KDL_LANES(type, lanes, whole, lane_of) { \\\n"
    "    type r = {{0}}; \\\n"
    "    for (int l = 0; l < lanes; ++l) r.lane[l] = lane_of; \\\n"
    "    return r; \\\n"
    "  }\n"
    "#endif\n";

std::string IntegerName(int bits) { return fmt::format("int{}_t", bits); }

}  // namespace

std::string Helpers::Vector(Scalar scalar, int64_t lanes, int mask_bits) {
  Define("KDL_VECTOR", std::string(kVectors));
  std::string name = VectorType(scalar, lanes, mask_bits);
  if (IsDefined(name)) return name;
  int bits = scalar == Scalar::Bool ? mask_bits : 8 * Bytes(scalar);
  std::vector<Part> parts = Parts(bits, lanes);
  if (parts.size() > 1) {
    std::string fields;
    for (const Part& part : parts) fields += (fields.empty() ? "" : ", ") + part.field.substr(1);
    Define(name, fmt::format("typedef struct {{ {} {}; }} {};\n",
                             Vector(scalar, parts[0].lanes, mask_bits), fields, name));
    return name;
  }
  std::string element =
      scalar == Scalar::Bool ? IntegerName(mask_bits) : std::string(MemoryType(scalar));
  Define(name, fmt::format("KDL_VECTOR({}, {}, {});\n", name, element, PaddedLanes(lanes)));
  return name;
}

std::string Helpers::Whole(const std::string& name, const std::string& result,
                           std::initializer_list<std::string_view> operands, int64_t lanes,
                           std::string_view whole, std::string_view lane) {
  std::string params;
  char letter = 'a';
  for (std::string_view type : operands)
    params += fmt::format("{}{} {}", params.empty() ? "" : ", ", type, letter++);
  std::string of_lane;
  for (size_t i = 0; i < lane.size(); ++i) {
    if (lane[i] == '$') {
      of_lane += fmt::format("{}.lane[l]", lane[++i]);
    } else {
      of_lane += lane[i];
    }
  }
  Define(name, fmt::format("static inline {0} {1}({2}) KDL_LANES({0}, {3}, {4}, {5})\n", result,
                           name, params, lanes, whole, of_lane));
  return name;
}

std::string Helpers::MaskConversion(int from_bits, int to_bits, int64_t lanes) {
  std::string name = fmt::format("kdl_m{}_of_m{}x{}", to_bits, from_bits, lanes);
  if (IsDefined(name)) return name;
  auto type = [this](int bits, int64_t count) { return Vector(Scalar::Bool, count, bits); };
  std::string of = type(from_bits, lanes);
  std::string result = type(to_bits, lanes);
  int via = to_bits > 2 * from_bits ? 2 * from_bits : from_bits > 2 * to_bits ? from_bits / 2 : 0;
  if (via > 0) {
    DefineChain(name, result, of, MaskConversion(from_bits, via, lanes),
                MaskConversion(via, to_bits, lanes));
    return name;
  }
  std::vector<Part> from = Parts(from_bits, lanes);
  std::vector<Part> to = Parts(to_bits, lanes);
  if (from.size() > 1 || to.size() > 1) {
    ConvertParts(name, lanes, from, to,
                 {[&](int64_t count) { return type(from_bits, count); },
                  [&](int64_t count) { return type(to_bits, count); },
                  [&](int64_t count) { return MaskConversion(from_bits, to_bits, count); }});
    return name;
  }
  return Whole(name, result, {of}, lanes, fmt::format("__builtin_convertvector(a, {})", result),
               fmt::format("({})$a", IntegerName(to_bits)));
}

void Helpers::DefineChain(const std::string& name, const std::string& result, const std::string& of,
                          const std::string& first, const std::string& second) {
  Define(name, fmt::format("static inline {} {}({} a) {{ return {}({}(a)); }}\n", result, name, of,
                           second, first));
}

std::string Helpers::BoolsToIntegers(Scalar to, int64_t lanes) {
  std::string result = Vector(to, lanes);
  int bits = 8 * Bytes(to);
  std::string of = Vector(Scalar::Bool, lanes, bits);
  std::string name = fmt::format("kdl_{}_of_m{}x{}", Spelling(to), bits, lanes);
  if (std::vector<Part> parts = Parts(bits, lanes); parts.size() > 1)
    return OnParts(name, result, {of}, parts, BoolsToIntegers(to, parts[0].lanes));
  return Whole(name, result, {of}, lanes, fmt::format("({})-a", result),
               fmt::format("({})-$a", MemoryType(to)));
}

std::string Helpers::MaskNot(int bits, int64_t lanes) {
  std::string type = Vector(Scalar::Bool, lanes, bits);
  std::string name = "kdl_not_" + type.substr(4);
  if (std::vector<Part> parts = Parts(bits, lanes); parts.size() > 1)
    return OnParts(name, type, {type}, parts, MaskNot(bits, parts[0].lanes));
  return Whole(name, type, {type}, lanes, "~a", fmt::format("({})~$a", IntegerName(bits)));
}

std::string Helpers::MaskOperator(std::string_view name, std::string_view sign, int bits,
                                  int64_t lanes) {
  std::string type = Vector(Scalar::Bool, lanes, bits);
  std::string full = fmt::format("kdl_{}_{}", name, type.substr(4));
  if (std::vector<Part> parts = Parts(bits, lanes); parts.size() > 1)
    return OnParts(full, type, {type, type}, parts, MaskOperator(name, sign, bits, parts[0].lanes));
  return Whole(full, type, {type, type}, lanes, fmt::format("a {} b", sign),
               fmt::format("({})($a {} $b)", IntegerName(bits), sign));
}

std::string Helpers::Select(Scalar scalar, int64_t lanes, int mask_bits) {
  std::string mask = Vector(Scalar::Bool, lanes, mask_bits);
  std::string type = scalar == Scalar::Bool ? mask : Vector(scalar, lanes);
  std::string name = "kdl_select_" + type.substr(4);
  if (std::vector<Part> parts = Parts(mask_bits, lanes); parts.size() > 1)
    return OnParts(name, type, {mask, type, type}, parts,
                   Select(scalar, parts[0].lanes, mask_bits));
  return Whole(name, type, {mask, type, type}, lanes,
               fmt::format("({0})((a & ({1})b) | (~a & ({1})c))", type, mask), "$a ? $b : $c");
}

std::string Helpers::Operator(std::string_view name, std::string_view sign, Scalar scalar,
                              int64_t lanes, int mask_bits, bool compares) {
  std::string type = Vector(scalar, lanes, mask_bits);
  int bits = scalar == Scalar::Bool ? mask_bits : 8 * Bytes(scalar);
  std::string result = compares ? Vector(Scalar::Bool, lanes, bits) : type;
  std::string full = fmt::format("kdl_{}_{}", name, type.substr(4));
  if (std::vector<Part> parts = Parts(bits, lanes); parts.size() > 1)
    return OnParts(full, result, {type, type}, parts,
                   Operator(name, sign, scalar, parts[0].lanes, mask_bits, compares));
  return Whole(full, result, {type, type}, lanes, fmt::format("a {} b", sign),
               fmt::format("$a {} $b{}", sign, compares ? " ? -1 : 0" : ""));
}

std::string Helpers::Negation(Scalar scalar, int64_t lanes) {
  std::string type = Vector(scalar, lanes);
  std::string name = "kdl_neg_" + type.substr(4);
  if (std::vector<Part> parts = Parts(8 * Bytes(scalar), lanes); parts.size() > 1)
    return OnParts(name, type, {type}, parts, Negation(scalar, parts[0].lanes));
  return Whole(name, type, {type}, lanes, "-a", "-$a");
}

std::string Helpers::HasValue(Scalar scalar, int64_t lanes) {
  std::string type = Vector(scalar, lanes);
  std::string result = Vector(Scalar::Bool, lanes, 8 * Bytes(scalar));
  std::string name = "kdl_has_value_" + type.substr(4);
  if (std::vector<Part> parts = Parts(8 * Bytes(scalar), lanes); parts.size() > 1)
    return OnParts(name, result, {type}, parts, HasValue(scalar, parts[0].lanes));
  return Whole(name, result, {type}, lanes, "a != 0", "$a != 0 ? -1 : 0");
}

std::string Helpers::AnyLane(std::string_view name, std::string_view test, Scalar scalar,
                             int64_t lanes, int64_t used, int mask_bits) {
  std::string type = Vector(scalar, lanes, mask_bits);
  if (used == 0) used = lanes;
  std::string full = fmt::format("kdl_{}_{}", name, type.substr(4));
  if (used < lanes) full += fmt::format("_first_{}", used);
  if (IsDefined(full)) return full;
  int bits = scalar == Scalar::Bool ? mask_bits : 8 * Bytes(scalar);
  std::string body;
  if (std::vector<Part> parts = Parts(bits, lanes); parts.size() > 1) {
    for (const Part& part : parts) {
      if (part.used == 0) continue;
      body +=
          fmt::format("{}{}(a{})", body.empty() ? "  return " : " | ",
                      AnyLane(name, test, scalar, part.lanes, part.used, mask_bits), part.field);
    }
    body += ";\n";
  } else {
    body = fmt::format(
        "  int any = 0;\n"
        "  for (int l = 0; l < {}; ++l) any |= KDL_LANE(a, l) {};\n"
        "  return any;\n",
        used, test);
  }
  Define(full, fmt::format("static inline int {}({} a) {{\n{}}}\n", full, type, body));
  return full;
}

std::string Helpers::FirstLanes(int bits, int64_t lanes) {
  std::string type = Vector(Scalar::Bool, lanes, bits);
  std::string name = "kdl_first_" + type.substr(4);
  if (IsDefined(name)) return name;
  if (std::vector<Part> parts = Parts(bits, lanes); parts.size() > 1) {
    DefineByParts(name, type, "int64_t count", parts, [&](const Part& part) {
      return fmt::format("{}(count - {})", FirstLanes(bits, part.lanes), part.first);
    });
    return name;
  }
  std::vector<int64_t> numbers(static_cast<size_t>(lanes));
  std::iota(numbers.begin(), numbers.end(), 0);
  Define(name, fmt::format("static inline {0} {1}(int64_t count) {{\n"
                           "  const {2} end = ({2})(count < 0 ? 0 : count < {3} ? count : {3});\n"
                           "#ifdef KDL_GNU_VECTORS\n"
                           "  return KDL_VECTOR_OF({0}, {4}) < {5}(end);\n"
                           "#else\n"
                           "  {0} r = {{{{0}}}};\n"
                           "  for (int l = 0; l < {3}; ++l) r.lane[l] = l < end ? -1 : 0;\n"
                           "  return r;\n"
                           "#endif\n"
                           "}}\n",
                           type, name, IntegerName(bits), lanes, fmt::join(numbers, ", "),
                           Splat(IntegerOf(bits / 8, true), lanes, 0)));
  return name;
}

std::string Helpers::HasZero(Scalar scalar, int64_t lanes) {
  return AnyLane("has_zero", "== 0", scalar, lanes, lanes, 0);
}

std::string Helpers::HasTrue(int bits, int64_t lanes) {
  return AnyLane("any", "!= 0", Scalar::Bool, lanes, lanes, bits);
}

std::string Helpers::FromBits(Scalar from, Scalar to, int64_t lanes) {
  std::string of = Vector(from, lanes);
  std::string result = Vector(to, lanes);
  std::string name = "kdl_from_bits_" + of.substr(4);
  if (std::vector<Part> parts = Parts(8 * Bytes(from), lanes); parts.size() > 1)
    return OnParts(name, result, {of}, parts, FromBits(from, to, parts[0].lanes));
  Define(name, fmt::format("static inline {0} {1}({2} a) {{\n"
                           "  {0} r;\n"
                           "  memcpy(&r, &a, sizeof r);\n"
                           "  return r;\n"
                           "}}\n",
                           result, name, of));
  return name;
}

std::string Helpers::Splat(Scalar scalar, int64_t lanes, int mask_bits) {
  bool is_bool = scalar == Scalar::Bool;
  std::string type = Vector(scalar, lanes, mask_bits);
  std::string name = "kdl_splat_" + type.substr(4);
  if (IsDefined(name)) return name;
  std::string param = fmt::format("{} a", VariableType(scalar));
  int bits = is_bool ? mask_bits : 8 * Bytes(scalar);
  if (std::vector<Part> parts = Parts(bits, lanes); parts.size() > 1) {
    DefineByParts(name, type, param, parts,
                  [&](const Part& part) { return Splat(scalar, part.lanes, mask_bits) + "(a)"; });
    return name;
  }
  std::vector<std::string_view> copies(static_cast<size_t>(lanes), is_bool ? "all" : "a");
  Define(name, fmt::format(
                   "static inline {0} {1}({2}) {{\n"
                   "{3}"
                   "  return KDL_VECTOR_OF({0}, {4});\n"
                   "}}\n",
                   type, name, param,
                   is_bool ? fmt::format("  const {0} all = a ? -1 : 0;\n", IntegerName(bits)) : "",
                   fmt::join(copies, ", ")));
  return name;
}

std::string Helpers::Shuffle(const std::string& result, const std::string& operand, size_t operands,
                             int64_t lanes, const std::vector<int64_t>& numbers) {
  std::string key = fmt::format("{}({}{}){}", result, operand, operands, fmt::join(numbers, ","));
  auto [found, is_new] = shuffles_.try_emplace(key, fmt::format("kdl_pick_{}", shuffles_.size()));
  if (!is_new) return found->second;
  const std::string& name = found->second;
  std::vector<int64_t> padded = numbers;
  padded.resize(static_cast<size_t>(PaddedLanes(std::ssize(numbers))), -1);
  std::vector<int64_t> known = numbers;
  for (int64_t& number : known) number = std::max<int64_t>(number, 0);
  bool both = operands == 2;
  std::string lane = both ? fmt::format("from[l] < {0} ? a.lane[from[l]] : b.lane[from[l] - {0}]",
                                        PaddedLanes(lanes))
                          : std::string("a.lane[from[l]]");
  text_ += fmt::format(
      "static inline {0} {1}({2} a{3}) {{\n"
      "#ifdef KDL_GNU_VECTORS\n"
      "  return __builtin_shufflevector(a, {4}, {5});\n"
      "#else\n"
      "  static const int from[] = {{{6}}};\n"
      "  {0} r = {{{{0}}}};\n"
      "  for (int l = 0; l < {7}; ++l) r.lane[l] = {8};\n"
      "  return r;\n"
      "#endif\n"
      "}}\n",
      result, name, operand, both ? fmt::format(", {} b", operand) : "", both ? "b" : "a",
      fmt::join(padded, ", "), fmt::join(known, ", "), known.size(), lane);
  return name;
}

}  // namespace kdl::codegen::c_source
