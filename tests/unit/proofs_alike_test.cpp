#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "ir_text.h"
#include "proofs/proofs.h"

// Compares kernels that differ only in a type.

namespace {

using kdl::ir::ReadText;
using kdl::proofs::AreAlike;

/// Returns whether two kernels are alike whose code has the types `a` and `b` in place of T.
bool AreAlikeWith(const std::string& a, const std::string& b, const std::string& code) {
  std::string text;
  for (const std::string& type : {a, b}) {
    std::string body = code;
    for (size_t at = body.find('T'); at != std::string::npos; at = body.find('T', at))
      body.replace(at, 1, type);
    text += fmt::format(
        "kernel @f{} dims(%N) (%x: tensor<{},[N]> in, %y: tensor<{},[N]> out, %k: tensor<i64,[N]> "
        "out) {{\n"
        "  axis i = N by 64\n"
        "  spmd (%i: block<i> in 0 .. %N) {{\n"
        "    %v = load %x[%i] {{bounds = guard, text = \"x[i]\"}} : tile<{}; i>\n"
        "{}"
        "  }}\n  return\n}}\n\n",
        text.size(), type, type, type, body);
  }
  ReadText read(text);
  REQUIRE_MESSAGE(read.module, read.Errors());
  return AreAlike(*read.module->functions()[0], *read.module->functions()[1]);
}

const std::string kCopy = "    store %v to %y[%i] {bounds = guard, text = \"y[i]\"}\n";
const std::string kSum =
    "    %s = add %v, %v : tile<T; i>\n    store %s to %y[%i] {bounds = guard, text = \"y[i]\"}\n";
const std::string kTest =
    "    %t = lt %v, %v : tile<bool; i>\n    store %v to %y[%i] where %t {bounds = guard, text = "
    "\"y[i]\"}\n";
const std::string kIndex = "    store %v to %y[%v] {bounds = guard, text = \"y[v]\"}\n";
const std::string kCast =
    "    %n = cast %v : tile<i64; i>\n    store %n to %k[%i] {bounds = guard, text = \"k[i]\"}\n";
const std::string kCastIndex =
    "    %n = cast %v : tile<i64; i>\n    store %n to %k[%n] {bounds = guard, text = \"k[n]\"}\n";
const std::string kCastSum =
    "    %c = cast %v : tile<f32; i>\n    %s = add %c, %c : tile<f32; i>\n    %r = cast %s : "
    "tile<T; i>\n"
    "    store %r to %y[%i] {bounds = guard, text = \"y[i]\"}\n";
const std::string kCastTest =
    "    %c = cast %v : tile<f64; i>\n    %t = lt %c, %c : tile<bool; i>\n    store %v to %y[%i] "
    "where %t {bounds = "
    "guard, text = \"y[i]\"}\n";
/// An index that is loaded from memory to which data was stored.
const std::string kStoredIndex =
    "    %n = cast %v : tile<i64; i>\n    store %n to %k[%i] {bounds = guard, text = \"k[i]\"}\n"
    "    %l = load %k[%i] {bounds = guard, text = \"k[i]\"} : tile<i64; i>\n"
    "    store %v to %y[%l] {bounds = guard, text = \"y[l]\"}\n";

TEST_CASE("kernels that only move or compute data of another type are alike") {
  CHECK(AreAlikeWith("f32", "f16", kCopy));
  CHECK(AreAlikeWith("f32", "i8", kCopy));
  CHECK(AreAlikeWith("i32", "u64", kSum));
  CHECK(AreAlikeWith("f32", "f64", kSum));
}

TEST_CASE("tests and indices show their type") {
  CHECK(AreAlikeWith("f32", "f64", kTest));
  CHECK(!AreAlikeWith("f32", "i32", kTest));
  CHECK(!AreAlikeWith("i16", "i32", kTest));
  CHECK(!AreAlikeWith("i16", "i32", kIndex));
  CHECK(AreAlikeWith("i32", "i32", kIndex));
}

TEST_CASE("casts count only if an index or a condition follows from them") {
  CHECK(AreAlikeWith("i16", "i32", kCast));
  CHECK(AreAlikeWith("f32", "i8", kCast));
  CHECK(AreAlikeWith("f16", "i8", kCastSum));
  CHECK(!AreAlikeWith("i16", "i32", kCastIndex));
  CHECK(!AreAlikeWith("f32", "f64", kCastIndex));
  CHECK(AreAlikeWith("f32", "f16", kCastTest));
  CHECK(!AreAlikeWith("f32", "i16", kCastTest));
  CHECK(!AreAlikeWith("i16", "i32", kStoredIndex));
  CHECK(AreAlikeWith("i16", "i16", kStoredIndex));
}

TEST_CASE("kernels of which only one converts its data are alike") {
  auto kernel = [](const std::string& name, const std::string& type, const std::string& body) {
    return fmt::format(
        "kernel @{} dims(%N) (%x: tensor<{},[N]> in, %y: tensor<f32,[N]> out) {{\n  axis i = N by "
        "64\n"
        "  spmd (%i: block<i> in 0 .. %N) {{\n"
        "    %v = load %x[%i] {{bounds = guard, text = \"x[i]\"}} : tile<{}; i>\n{}"
        "    %s = add %c, %c : tile<f32; i>\n"
        "    store %s to %y[%i] {{bounds = guard, text = \"y[i]\"}}\n  }}\n  return\n}}\n\n",
        name, type, type, body);
  };
  ReadText read(
      kernel("a", "i8", "    %c = cast %v : tile<f32; i>\n") +
      kernel("b", "f32", "    %c = neg %v : tile<f32; i>\n") +
      kernel("c", "f16", "    %d = cast %v : tile<f64; i>\n    %c = cast %d : tile<f32; i>\n"));
  REQUIRE_MESSAGE(read.module, read.Errors());
  const auto& kernels = read.module->functions();
  CHECK(AreAlike(*kernels[0], *kernels[1]));
  CHECK(AreAlike(*kernels[0], *kernels[2]));
  CHECK(AreAlike(*kernels[1], *kernels[2]));
}

TEST_CASE("other code is not alike") {
  ReadText read(
      "kernel @a dims(%N) (%y: tensor<i64,[N]> out) {\n  spmd (%i: i64 in 0 .. %N) {\n"
      "    store %N to %y[%i] {bounds = guard, text = \"y[i]\"}\n  }\n  return\n}\n\n"
      "kernel @b dims(%N) (%y: tensor<i64,[N]> out) {\n  spmd (%i: i64 in 0 .. %N) {\n"
      "    store %N to %y[%i + 1] {bounds = guard, text = \"y[i]\"}\n  }\n  return\n}\n\n"
      "kernel @c dims(%N) (%y: tensor<i64,[N]> inout) {\n  spmd (%i: i64 in 0 .. %N) {\n"
      "    store %N to %y[%i] {bounds = guard, text = \"y[i]\"}\n  }\n  return\n}\n\n"
      "kernel @d dims(%N) (%y: tensor<i64,[N]> out) {\n  spmd (%i: i64 in 0 .. %N) {\n"
      "    store %N to %y[%i] {bounds = proven, text = \"y[i]\"}\n  }\n  return\n}\n");
  REQUIRE_MESSAGE(read.module, read.Errors());
  const auto& kernels = read.module->functions();
  CHECK(AreAlike(*kernels[0], *kernels[0]));
  CHECK(!AreAlike(*kernels[0], *kernels[1]));
  CHECK(!AreAlike(*kernels[0], *kernels[2]));
  CHECK(!AreAlike(*kernels[0], *kernels[3]));
  CHECK(AreAlike(*kernels[0], *kernels[3], kdl::proofs::BoundsModes::Ignored));
}

}  // namespace
