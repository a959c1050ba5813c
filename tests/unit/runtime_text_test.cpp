// Tests text that the runtime parses or writes: device specs, trap messages and prints.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>

#include "core/spec.h"
#include "core/trap.h"
#include "kdl/packed_text.hpp"

namespace kdl::runtime {
namespace {

std::string MessageOf(const Error& error) { return kdl_error_message(error.get()); }

// Returns a text with repeated parts, some of which overlap, and parts that occur once.
std::string TextWithRepeats(std::mt19937& random) {
  std::string text;
  const size_t parts = random() % 40;
  for (size_t p = 0; p < parts; ++p) {
    const size_t length = random() % 60;
    for (size_t i = 0; i < length && random() % 2 == 0; ++i)
      text += static_cast<char>(random() % 256);
    const size_t from = text.empty() ? 0 : random() % text.size();
    for (size_t i = 0; i < length && from < text.size(); ++i) text += text[from + i];
  }
  return text;
}

TEST_CASE("packed text: unpacking returns the text") {
  std::mt19937 random(1);
  std::string unpacked;
  for (int n = 0; n < 2000; ++n) {
    const std::string text = TextWithRepeats(random);
    REQUIRE(UnpackText(PackText(text), &unpacked));
    REQUIRE(unpacked == text);
  }
  const std::string zeros(100000, '0');
  CHECK(PackText(zeros).size() < 20);
  REQUIRE(UnpackText(PackText(zeros), &unpacked));
  CHECK(unpacked == zeros);
}

TEST_CASE("packed text: damaged bytes are refused or give a text of the stated size") {
  std::mt19937 random(2);
  std::string unpacked;
  for (int n = 0; n < 2000; ++n) {
    const std::string text = TextWithRepeats(random) + "end";
    std::string bytes = PackText(text);
    CHECK_FALSE(UnpackText(std::string_view(bytes).substr(0, random() % bytes.size()), &unpacked));
    bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
    if (UnpackText(bytes, &unpacked)) CHECK(unpacked.size() < (size_t{1} << 22));
  }
}

TEST_CASE("specs: parts and shortest spelling") {
  struct Case {
    const char* text;
    const char* canonical;
  };
  for (const Case& c : {Case{"host", "host"}, Case{"host[0]", "host"}, Case{"debug[3]", "debug[3]"},
                        Case{"host?threads=4", "host?threads=4"},
                        Case{"debug[1]?threads=2&seed=9", "debug[1]?seed=9&threads=2"},
                        Case{"cluster-riscv64?file=a/b.yaml", "cluster-riscv64?file=a/b.yaml"}}) {
    DeviceSpec spec;
    REQUIRE_MESSAGE(ParseDeviceSpec(c.text, &spec) == nullptr, c.text);
    CHECK(CanonicalSpec(spec) == c.canonical);
  }
}

TEST_CASE("specs: errors name what is wrong") {
  DeviceSpec spec;
  for (const char* text : {"", "[1]", "?threads=1", "ho st", "host]"}) {
    CHECK_MESSAGE(MessageOf(ParseDeviceSpec(text, &spec)).find("is not a kind of device") !=
                      std::string::npos,
                  text);
  }
  CHECK(MessageOf(ParseDeviceSpec("host[x]", &spec)) ==
        "device spec 'host[x]': '[x]' is not an ordinal such as [0]; write "
        "kind[ordinal]?key=value, such as host, debug[1] or host?threads=4");
  CHECK(MessageOf(ParseDeviceSpec("host[-1]", &spec)).find("not an ordinal") != std::string::npos);
  CHECK(MessageOf(ParseDeviceSpec("host[1", &spec)).find("not an ordinal") != std::string::npos);
  CHECK(MessageOf(ParseDeviceSpec("host?threads", &spec)).find("'threads' is not key=value;") !=
        std::string::npos);
  CHECK(MessageOf(ParseDeviceSpec("host?threads=", &spec)).find("not key=value") !=
        std::string::npos);
  CHECK(MessageOf(ParseDeviceSpec("host?a=1&a=2", &spec)).find("'a' is given twice;") !=
        std::string::npos);
}

TEST_CASE("text: splitting, and similar words") {
  CHECK(Split("", ',').empty());
  CHECK(Split(" a , b,c ", ',') == std::vector<std::string_view>{"a", "b", "c"});
  CHECK(JoinWords({"a"}) == "a");
  CHECK(JoinWords({"a", "b", "c"}) == "a, b and c");
  CHECK(NearestWord("sofmax", {"matmul", "softmax"}) == "softmax");
  CHECK(NearestWord("conv2d", {"matmul", "softmax"}) == "");
  std::int64_t value = 0;
  CHECK(ParseInteger("-12", &value));
  CHECK(value == -12);
  for (const char* text : {"", "1x", " 1", "99999999999999999999"}) {
    CHECK_FALSE_MESSAGE(ParseInteger(text, &value), text);
  }
}

TEST_CASE("traps: stages in a deadlock are reported with every op at which a stage waits") {
  static constexpr kdl_location kLocations[] = {
      {"k.kdl", "x[i]", 3, 4, 0, 1, 0, 0},
      {"k.kdl", "'q.push(t)' waits for a free slot of 'q'", 5, 9, KDL_TRAP_STUCK, -1, 0, 0},
      {"k.kdl", "'r.pop(i)' waits for a tile of 'r'", 8, 9, KDL_TRAP_STUCK, -1, 0, 0}};
  kdl_variant variant = {};
  variant.locations = kLocations;
  variant.location_count = 3;
  const kdl_kernel kernel = {"k", &variant, 1, 0};
  CHECK(TrapMessage(kernel, variant, {KDL_TRAP_STUCK, 1, 0, 0, {2, 0, 3}}) ==
        "k.kdl:5:9: error: no stage can continue: k.kdl:5:9: 'q.push(t)' waits for a free slot of "
        "'q'; "
        "k.kdl:8:9: 'r.pop(i)' waits for a tile of 'r'");
  // Locations that the kernel does not have are skipped.
  CHECK(TrapMessage(kernel, variant, {KDL_TRAP_STUCK, 1, 0, 0, {4, -1}}) ==
        "k.kdl:5:9: error: no stage can continue: ");
}

TEST_CASE("traps: every code has a message, filled in from the trap and its location") {
  static constexpr kdl_location kLocations[] = {
      {"k.kdl", "x[i]", 3, 4, 0, 1, 0, 0},
      {"k.kdl", "N is {index}, M is {bound}", 3, 4, 0, 1, 0, 0}};
  kdl_variant variant = {};
  variant.locations = kLocations;
  variant.location_count = 2;
  const kdl_kernel kernel = {"k", &variant, 1, 0};
  const auto message = [&](std::int32_t code, std::int32_t location = 0) {
    return TrapMessage(kernel, variant, {code, location, 7, 5, {}});
  };
  CHECK(message(KDL_TRAP_INDEX) ==
        "k.kdl:3:4: error: index 7 is outside dimension 1 of size 5 in 'x[i]'");
  CHECK(message(KDL_TRAP_SIZES, 1) == "k.kdl:3:4: error: N is 7, M is 5");
  CHECK(message(KDL_TRAP_DIVISION) == "k.kdl:3:4: error: division by zero in 'x[i]'");
#define KDL_TRAP_CODE(ID, code, text)                                  \
  CHECK_MESSAGE(message(code).starts_with("k.kdl:3:4: error: "), #ID); \
  CHECK_MESSAGE(message(code).find('{') == std::string::npos, #ID);
#include "kdl/abi.def"
  // Invalid codes from a kernel still give a message.
  CHECK(message(99).find("trap code 99") != std::string::npos);
  CHECK(message(KDL_TRAP_INDEX, 2).find("unknown location 2") != std::string::npos);
  CHECK(message(KDL_TRAP_INDEX, -1).find("unknown location -1") != std::string::npos);
}

TEST_CASE("traps: in an inlined function, the calls are noted from the inside to the outside") {
  static constexpr kdl_location kLocations[] = {{"k.kdl", "", 9, 5, KDL_LOCATION_CALL, -1, 0, 0},
                                                {"f.kdl", "", 6, 3, KDL_LOCATION_CALL, -1, 1, 0},
                                                {"f.kdl", "x[i]", 2, 7, KDL_TRAP_INDEX, 0, 2, 0},
                                                {"f.kdl", "x[i]", 2, 7, KDL_TRAP_INDEX, 0, 9, 0},
                                                {"f.kdl", "x[i]", 2, 7, KDL_TRAP_INDEX, 0, 5, 0}};
  kdl_variant variant = {};
  variant.locations = kLocations;
  variant.location_count = 5;
  const kdl_kernel kernel = {"k", &variant, 1, 0};
  const auto message = [&](std::int32_t location) {
    return TrapMessage(kernel, variant, {KDL_TRAP_INDEX, location, 7, 5, {}});
  };
  const std::string first = "f.kdl:2:7: error: index 7 is outside dimension 0 of size 5 in 'x[i]'";
  CHECK(message(2) == first + "\nf.kdl:6:3: note: called here\nk.kdl:9:5: note: called here");
  // Calls of a damaged image may be missing or form a circle.
  CHECK(message(3) == first);
  CHECK(message(4).starts_with(first));
}

template <class T>
kdl_tensor View(T* data, std::uint8_t element, std::int64_t rows, std::int64_t columns) {
  kdl_tensor view = {};
  view.data = data;
  view.rank = 2;
  view.element = element;
  view.element_bits = sizeof(T) * 8;
  view.size[0] = rows;
  view.size[1] = columns;
  view.stride[0] = columns;
  view.stride[1] = 1;
  return view;
}

TEST_CASE("prints: values of every kind") {
  float floats[] = {1, -0.0f, 0.1f, INFINITY};
  std::uint16_t halves[] = {0x3c00, 0x8001, 0x7bff, 0xfc00};
  std::uint16_t brains[] = {0x3f80, 0xc2f7};
  std::uint8_t eighths[] = {0x38, 0xfe, 0x01, 0x7f};
  std::uint8_t fourths[] = {0x3c, 0xfb, 0x01, 0x7c};
  std::uint8_t powers[] = {0x7f, 0x00, 0xfe, 0xff};
  std::uint8_t bytes[] = {0, 255};
  std::int8_t signs[] = {-128, 127};
  bool bools[] = {true, false};
  const auto print = [](kdl_tensor value) { return FormatPrint("{}", &value, 1); };
  CHECK(print(View(floats, KDL_F32, 2, 2)) == "[[1, -0], [0.1, inf]]");
  CHECK(print(View(halves, KDL_F16, 1, 4)) == "[[1, -5.9604645e-08, 65504, -inf]]");
  CHECK(print(View(brains, KDL_BF16, 2, 1)) == "[[1], [-123.5]]");
  CHECK(print(View(eighths, KDL_F8E4M3, 1, 4)) == "[[1, -448, 0.001953125, nan]]");
  CHECK(print(View(fourths, KDL_F8E5M2, 1, 4)) == "[[1, -57344, 1.5258789e-05, inf]]");
  CHECK(print(View(powers, KDL_F8E8M0, 1, 4)) == "[[1, 5.877472e-39, 1.7014118e+38, nan]]");
  CHECK(print(View(bytes, KDL_U8, 1, 2)) == "[[0, 255]]");
  CHECK(print(View(signs, KDL_I8, 1, 2)) == "[[-128, 127]]");
  CHECK(print(View(bools, KDL_BOOL, 1, 2)) == "[[true, false]]");
  CHECK(print(View(bytes, KDL_U8, 0, 2)) == "[]");
  // There may be more placeholders than values, or more values than placeholders.
  const kdl_tensor one = View(bytes, KDL_U8, 1, 1);
  CHECK(FormatPrint("a {} b {} c", &one, 1) == "a [[0]] b {} c");
  CHECK(FormatPrint("none", &one, 1) == "none");
}

}  // namespace
}  // namespace kdl::runtime
