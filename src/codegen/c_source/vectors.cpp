#include <string>

#include "codegen/c_source/writer.h"

// Defines types of vectors, and the functions on them that GNU C computes as a whole. Compilers without GNU vectors use
// structs, whose lanes these functions visit in a loop.

namespace kdl::codegen::c_source {

namespace {

constexpr std::string_view kVectors =
    "// Vectors are those of GNU C. For other compilers, or with KDL_PLAIN, they are structs.\n"
    "#if defined(__GNUC__) && !defined(KDL_PLAIN)\n"
    "#define KDL_GNU_VECTORS\n"
    "#define KDL_VECTOR(name, element, lanes) \\\n"
    "  typedef element name __attribute__((vector_size(sizeof(element) * (lanes))))\n"
    "#define KDL_LANE(v, l) (v)[l]\n"
    "#define KDL_VECTOR_OF(type, ...) (type){__VA_ARGS__}\n"
    "#define KDL_LANES(type, lanes, whole, lane) { return whole; }\n"
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
  std::string result = Vector(Scalar::Bool, lanes, to_bits);
  return Whole(fmt::format("kdl_m{}_of_m{}x{}", to_bits, from_bits, lanes), result,
               {Vector(Scalar::Bool, lanes, from_bits)}, lanes,
               fmt::format("__builtin_convertvector(a, {})", result),
               fmt::format("({})$a", IntegerName(to_bits)));
}

std::string Helpers::BoolsToIntegers(Scalar to, int64_t lanes) {
  std::string result = Vector(to, lanes);
  int bits = 8 * Bytes(to);
  return Whole(fmt::format("kdl_{}_of_m{}x{}", Spelling(to), bits, lanes), result,
               {Vector(Scalar::Bool, lanes, bits)}, lanes, fmt::format("({})-a", result),
               fmt::format("({})-$a", MemoryType(to)));
}

std::string Helpers::MaskNot(int bits, int64_t lanes) {
  std::string type = Vector(Scalar::Bool, lanes, bits);
  return Whole("kdl_not_" + type.substr(4), type, {type}, lanes, "~a",
               fmt::format("({})~$a", IntegerName(bits)));
}

std::string Helpers::MaskOperator(std::string_view name, std::string_view sign, int bits,
                                  int64_t lanes) {
  std::string type = Vector(Scalar::Bool, lanes, bits);
  return Whole(fmt::format("kdl_{}_{}", name, type.substr(4)), type, {type, type}, lanes,
               fmt::format("a {} b", sign), fmt::format("({})($a {} $b)", IntegerName(bits), sign));
}

std::string Helpers::Select(Scalar scalar, int64_t lanes, int mask_bits) {
  std::string mask = Vector(Scalar::Bool, lanes, mask_bits);
  std::string type = scalar == Scalar::Bool ? mask : Vector(scalar, lanes);
  return Whole("kdl_select_" + type.substr(4), type, {mask, type, type}, lanes,
               fmt::format("({0})((a & ({1})b) | (~a & ({1})c))", type, mask), "$a ? $b : $c");
}

std::string Helpers::Shuffle(const std::string& result, const std::string& operand, size_t operands,
                             int64_t lanes, const std::string& numbers, size_t count) {
  std::string key = fmt::format("{}({}{}){}", result, operand, operands, numbers);
  auto [found, is_new] = shuffles_.try_emplace(key, fmt::format("kdl_pick_{}", shuffles_.size()));
  if (!is_new) return found->second;
  const std::string& name = found->second;
  bool both = operands == 2;
  std::string lane = both ? fmt::format("from[l] < {0} ? a.lane[from[l]] : b.lane[from[l] - {0}]",
                                        PaddedLanes(lanes))
                          : std::string("a.lane[from[l]]");
  text_ += fmt::format(
      "static inline {0} {1}({2} a{3}) {{\n"
      "#ifdef KDL_GNU_VECTORS\n"
      "  return __builtin_shufflevector(a, {4}, {5});\n"
      "#else\n"
      "  static const int from[] = {{{5}}};\n"
      "  {0} r = {{{{0}}}};\n"
      "  for (int l = 0; l < {6}; ++l) r.lane[l] = {7};\n"
      "  return r;\n"
      "#endif\n"
      "}}\n",
      result, name, operand, both ? fmt::format(", {} b", operand) : "", both ? "b" : "a", numbers,
      count, lane);
  return name;
}

}  // namespace kdl::codegen::c_source
