#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "driver/run/draw.h"
#include "driver/run/host_tensor.h"

using namespace kdl;
using namespace kdl::driver;

namespace {

/// Parses `text` as an element and prints the element again. Returns an empty string if the text is not an
/// element.
std::string Again(Scalar scalar, std::string_view text) {
  auto bits = ParseElement(scalar, text);
  return bits ? ElementText(scalar, *bits) : std::string();
}

}  // namespace

TEST_CASE("elements: numbers are parsed and printed") {
  CHECK(Again(Scalar::F32, "1e-5") == "1e-05");
  CHECK(Again(Scalar::F32, "-0") == "-0");
  CHECK(Again(Scalar::F32, "0.1") == "0.1");
  CHECK(Again(Scalar::F64, "0.1") == "0.1");
  CHECK(Again(Scalar::F16, "0.1") == "0.099975586");
  CHECK(Again(Scalar::BF16, "-inf") == "-inf");
  CHECK(Again(Scalar::F64, "-nan") == "nan");
  CHECK(Again(Scalar::I32, "0x10") == "16");
  CHECK(Again(Scalar::I8, "-128") == "-128");
  CHECK(Again(Scalar::U64, "18446744073709551615") == "18446744073709551615");
  CHECK(Again(Scalar::I64, "-9223372036854775808") == "-9223372036854775808");
  CHECK(Again(Scalar::Bool, "true") == "true");
}

TEST_CASE("elements: values that do not fit are rejected") {
  for (auto [scalar, text] : std::initializer_list<std::pair<Scalar, const char*>>{
           {Scalar::I8, "128"},
           {Scalar::I8, "-129"},
           {Scalar::U8, "-1"},
           {Scalar::U8, "256"},
           {Scalar::I32, "1.5"},
           {Scalar::I32, ""},
           {Scalar::I32, "0x"},
           {Scalar::I32, "1 "},
           {Scalar::F32, "1e39"},
           {Scalar::F16, "65520"},
           {Scalar::F32, "one"},
           {Scalar::F32, "infinity"},
           {Scalar::F32, "0x1p3"},
           {Scalar::Bool, "2"},
           {Scalar::I64, "9223372036854775808"},
           {Scalar::U64, "18446744073709551616"}}) {
    INFO(text);
    CHECK(Again(scalar, text).empty());
  }
}

TEST_CASE("element counts: empty shapes, zero, and sizes of more than 63 bits") {
  CHECK(ElementCount(Scalar::F32, {}) == 1);
  CHECK(ElementCount(Scalar::F32, std::vector<int64_t>{3, 0}) == 0);
  CHECK(ElementCount(Scalar::F32, std::vector<int64_t>{3, 5}) == 15);
  CHECK(ElementCount(Scalar::U8, std::vector<int64_t>{std::numeric_limits<int64_t>::max()})
            .has_value());
  CHECK_FALSE(ElementCount(Scalar::F64, std::vector<int64_t>{int64_t{1} << 60}).has_value());
}

TEST_CASE("draw: elements have the documented bits") {
  // These values were computed independently, in Python, from the formula in draw.h.
  CHECK(DrawElement(Scalar::U8, 1, 0) == 43);
  CHECK(DrawElement(Scalar::I8, 1, 0) == 61);
  CHECK(DrawElement(Scalar::F32, 1, 0) == 0xbe86f954);
  CHECK(DrawElement(Scalar::F64, 1, 0) == 0xbfd0df2a7bc5e350);
  CHECK(DrawElement(Scalar::F32, 1, 1) == 0x3d5adfa0);
  CHECK(DrawElement(Scalar::I8, 42, 1000000) == 6);
  CHECK(DrawElement(Scalar::F64, 42, 1000000) == 0x3fe7a216df16beca);
}

TEST_CASE("draw: values are in range and signed, and seeds have no bits in common") {
  std::set<uint64_t> seen;
  int negative = 0;
  for (uint64_t n = 0; n < 1000; ++n) {
    for (Scalar scalar : {Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64}) {
      double value = ElementValue(scalar, DrawElement(scalar, 7, n));
      CHECK(value >= -1);
      CHECK(value < 1);
    }
    double integer = ElementValue(Scalar::I16, DrawElement(Scalar::I16, 7, n));
    CHECK(std::abs(integer) <= 100);
    negative += integer < 0 ? 1 : 0;
    CHECK(DrawElement(Scalar::Bool, 7, n) <= 1);
    seen.insert(DrawElement(Scalar::F64, 7, n));
    seen.insert(DrawElement(Scalar::F64, 8, n));
  }
  CHECK(seen.size() == 2000);
  CHECK(negative > 400);
  CHECK(negative < 600);
}
