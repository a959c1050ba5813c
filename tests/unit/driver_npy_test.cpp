#include "driver/run/npy.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "driver/run/host_tensor.h"
#include "support/diagnostics.h"

using namespace kdl;
using namespace kdl::driver;

namespace {

/// Returns what numpy.save writes for this header text. Header and prefix are padded to a multiple of 64
/// bytes.
std::string File(const std::string& dict, const std::string& data, int version = 1) {
  std::string bytes = "\x93NUMPY";
  size_t prefix = bytes.size() + (version == 1 ? 4 : 6);
  std::string header = dict;
  while ((prefix + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    bytes += static_cast<char>(header.size() >> 8 * i & 0xFF);
  return bytes + header + data;
}

std::string Dict(std::string_view descr, std::string_view shape,
                 std::string_view fortran = "False") {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr, fortran,
                     shape);
}

std::string IdOf(const std::string& bytes) {
  DiagnosticEngine diagnostics;
  CHECK_FALSE(ParseNpy(bytes, "x.npy", diagnostics).has_value());
  REQUIRE(diagnostics.all().size() == 1);
  return diagnostics.all()[0]->id;
}

HostTensor Parsed(const std::string& bytes) {
  DiagnosticEngine diagnostics;
  auto tensor = ParseNpy(bytes, "x.npy", diagnostics);
  for (const auto& one : diagnostics.all()) FAIL(one->text);
  REQUIRE(tensor.has_value());
  return *tensor;
}

}  // namespace

TEST_CASE("npy: header versions 1, 2 and 3") {
  for (int version : {1, 2, 3}) {
    HostTensor tensor =
        Parsed(File(Dict("<i4", "(2,)"), std::string("\1\0\0\0\377\377\377\377", 8), version));
    CHECK(tensor.scalar == Scalar::I32);
    CHECK(tensor.shape == std::vector<int64_t>{2});
    CHECK(ElementText(Scalar::I32, ElementBits(tensor, 0)) == "1");
    CHECK(ElementText(Scalar::I32, ElementBits(tensor, 1)) == "-1");
  }
  CHECK(IdOf(File(Dict("<i4", "()"), "abcd", 4)) == "E0940");
}

TEST_CASE("npy: every scalar type survives a round trip, and 8-bit floats are stored as bytes") {
  for (int i = 0; i < 15; ++i) {
    auto scalar = static_cast<Scalar>(i);
    HostTensor tensor{
        scalar, {2, 3}, std::vector<std::byte>(static_cast<size_t>(6 * Bytes(scalar)))};
    for (int64_t n = 0; n < 6; ++n) SetElementBits(tensor, n, static_cast<uint64_t>(n & 1));
    HostTensor again = Parsed(FormatNpy(tensor));
    CHECK(again.scalar == (IsByteFloat(scalar) ? Scalar::U8 : scalar));
    CHECK(again.shape == tensor.shape);
    CHECK(again.bytes == tensor.bytes);
  }
}

TEST_CASE("npy: shapes without dimensions, with a size of 0, and in Python 2's form") {
  CHECK(Parsed(File(Dict("<f8", "()"), "12345678")).shape.empty());
  CHECK(Parsed(File(Dict("<f4", "(0, 3)"), "")).shape == std::vector<int64_t>{0, 3});
  CHECK(Parsed(File(Dict("|u1", "(3L,)"), "abc")).shape == std::vector<int64_t>{3});
}

TEST_CASE("npy: the same bytes as numpy.save") {
  HostTensor tensor{Scalar::F32, {3}, std::vector<std::byte>(12)};
  std::string bytes = FormatNpy(tensor);
  CHECK(bytes ==
        File("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", std::string(12, '\0')));
  CHECK(bytes.size() == 128 + 12);
  CHECK(FormatNpy({Scalar::I8, {}, std::vector<std::byte>(1)}).find("'|i1'") != std::string::npos);
}

TEST_CASE("npy: one dimension is in C order, whatever the header says") {
  CHECK(Parsed(File(Dict("|u1", "(1, 3)", "True"), "abc")).shape == std::vector<int64_t>{1, 3});
  CHECK(IdOf(File(Dict("|u1", "(2, 2)", "True"), "abcd")) == "E0946");
}

TEST_CASE("npy: errors say what is wrong with a file") {
  CHECK(IdOf("") == "E0940");
  CHECK(IdOf("PK\3\4 a zip") == "E0940");
  CHECK(IdOf("\x93NUMPY") == "E0940");
  CHECK(IdOf(File(Dict("<f4", "(2,)"), "1234567").substr(0, 40)) == "E0940");
  CHECK(IdOf(File("{'descr': '<f4', 'shape': (2,), }", "12345678")) == "E0940");
  CHECK(IdOf(File("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "12345678")) ==
        "E0940");
  CHECK(IdOf(File(Dict("<f4", "(2,)") + "}", "12345678")) == "E0940");
  CHECK(IdOf(File(Dict("<f4", "(2,)"), "1234567")) == "E0941");
  CHECK(IdOf(File(Dict("<f4", "(2,)"), "123456789")) == "E0942");
  CHECK(IdOf(File(Dict("<c8", "(1,)"), "12345678")) == "E0944");
  CHECK(IdOf(File("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234")) ==
        "E0944");
  CHECK(IdOf(File(Dict(">f4", "(1,)"), "1234")) == "E0945");
  CHECK(IdOf(File(Dict("<f8", "(4611686018427387904, 2)"), "")) == "E0948");
  CHECK(IdOf(File(Dict("|u1", "(4611686018427387904, 0, 8)"), "")) == "E0948");
  CHECK(IdOf(File(Dict("<f8", "(99999999999999999999,)"), "")) == "E0940");
}

TEST_CASE("npy: a file with changed, missing or additional bytes is read or rejected") {
  std::string sound = File(Dict("<f4", "(2, 3)"), std::string(24, 'x'));
  uint64_t state = 1;
  auto next = [&](size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % below;
  };
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = sound;
    for (size_t n = next(4) + 1; n-- > 0 && !bytes.empty();) {
      size_t at = next(std::min<size_t>(bytes.size(), 80));
      switch (next(4)) {
        case 0:
          bytes[at] = static_cast<char>(next(256));
          break;
        case 1:
          bytes[at] = "0123456789,()[]{}'<>|: fTFu-L"[next(29)];
          break;
        case 2:
          bytes.erase(at, next(8) + 1);
          break;
        default:
          bytes.insert(at, 1, static_cast<char>(next(128)));
          break;
      }
    }
    DiagnosticEngine diagnostics;
    auto tensor = ParseNpy(bytes, "x.npy", diagnostics);
    CHECK(tensor.has_value() == !diagnostics.has_errors());
    CHECK(diagnostics.all().size() <= 1);
    read += tensor.has_value() ? 1 : 0;
  }
  CHECK(read > 0);
  CHECK(read < 20000);
}
