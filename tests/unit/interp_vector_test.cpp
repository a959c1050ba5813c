#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>

#include "interp_run.h"

namespace kdl::interp {

namespace {

/// x: f32[2,8] counts up, y: f32[2,8] is filled with -1, and every third element of m: bool[8] is true.
struct Tensors {
  Array<float> x{{2, 8}};
  Array<float> y{{2, 8}, -1};
  Array<uint8_t> m{{8}};

  Tensors() {
    std::iota(x.data.begin(), x.data.end(), 0.0F);
    for (size_t lane = 0; lane < 8; lane += 3) m.data[lane] = 1;
  }
  std::vector<TensorArgument> arguments() { return {Argument(x), Argument(y), Argument(m)}; }
};

std::string InVectorKernel(std::string_view body) {
  return "kernel @k (%x: tensor<f32,[2,8]> in, %y: tensor<f32,[2,8]> inout, "
         "%m: tensor<bool,[8]> in) {\n"
         "  %0 = const 0 : i64\n  %1 = const 1 : i64\n  %2 = const 2 : i64\n"
         "  %3 = const 3 : i64\n  %5 = const 5 : i64\n  %f = const 0.5 : f32\n" +
         std::string(body) + "\n  return\n}\n";
}

/// Runs the body and returns y.
std::vector<float> RunBody(std::string_view body) {
  Tensors t;
  TestModule(InVectorKernel(body)).RunToEnd({t.arguments(), {}, {}});
  return t.y.data;
}

std::string FaultOf(std::string_view body) {
  Tensors t;
  return SingleCore(InVectorKernel(body), t.arguments()).FaultAtEnd();
}

uint64_t RunI64(std::string_view text, uint64_t argument = 0) {
  TestModule test{std::string(text)};
  FnResult result = RunFn(test.module(), test.function(), {argument});
  REQUIRE(!result.trap);
  return result.bits;
}

}  // namespace

TEST_CASE("elementwise ops map lanes, and a scalar applies to every lane") {
  std::vector<float> y = RunBody(R"(
  %4 = const 4.0 : f32
  %v = load %x[0, 0] {bounds = proven} : vec<f32 x 8>
  %s = splat %f : vec<f32 x 8>
  %w = fma %v, %f, %s : vec<f32 x 8>
  %c = lt %4, %v : vec<bool x 8>
  %z = select %c, %w, %f : vec<f32 x 8>
  store %z to %y[1, 0] {bounds = proven}
  %n = cast %v : vec<i32 x 8>
  %q = cast %n : vec<f32 x 8>
  %b = const true : bool
  %p = select %b, %q, %f : vec<f32 x 8>
  store %p to %y[0, 0] {bounds = proven})");
  for (size_t lane = 0; lane < 8; ++lane) {
    auto x = static_cast<float>(lane);
    CHECK(y[lane] == x);
    CHECK(y[8 + lane] == (x > 4 ? x * 0.5F + 0.5F : 0.5F));
  }
}

TEST_CASE("a lane that divides by zero traps") {
  TestModule test(R"(
fn @k (%n: i64) -> i64 {
  %v = lane_numbers : vec<i64 x 4>
  %w = div %n, %v {text = "n / v"} : vec<i64 x 4>
  %a = half 1 of %w : vec<i64 x 2>
  %b = half 1 of %a : i64
  return %b
}
)");
  FnResult result = RunFn(test.module(), test.function(), {100});
  REQUIRE(result.trap);
  CHECK(Contains(ToString(*result.trap), "n / v"));
}

TEST_CASE("lane numbers, and halves of vectors down to a scalar") {
  // Selects lane 5 by the bits of its lane number.
  CHECK(RunI64(R"(
fn @k (%n: i64) -> i64 {
  %v = lane_numbers : vec<i64 x 8>
  %w = add %v, %n : vec<i64 x 8>
  %a = half 1 of %w : vec<i64 x 4>
  %b = half 0 of %a : vec<i64 x 2>
  %c = half 1 of %b : i64
  return %c
}
)",
               100) == 105);
}

TEST_CASE("a lane mask is true for the lanes below its count, for any count") {
  constexpr std::string_view kText = R"(
fn @k (%n: i64) -> i64 {
  %k = lane_mask %n : vec<bool x 4>
  %v = cast %k : vec<i64 x 4>
  %a = half 0 of %v : vec<i64 x 2>
  %b = half 1 of %v : vec<i64 x 2>
  %c = add %a, %b : vec<i64 x 2>
  %d = half 0 of %c : i64
  %e = half 1 of %c : i64
  %s = add %d, %e : i64
  return %s
}
)";
  for (int64_t count : {INT64_MIN, INT64_C(-1), INT64_C(0), INT64_C(1), INT64_C(3), INT64_C(4),
                        INT64_C(5), INT64_C(1) << 32, INT64_MAX}) {
    CHECK(RunI64(kText, static_cast<uint64_t>(count)) ==
          static_cast<uint64_t>(std::clamp<int64_t>(count, 0, 4)));
  }
}

TEST_CASE("a square of vectors is transposed") {
  std::vector<float> y = RunBody(R"(
  %a = load %x[0, 0] {bounds = proven} : vec<f32 x 4>
  %b = load %x[0, 4] {bounds = proven} : vec<f32 x 4>
  %c = load %x[1, 0] {bounds = proven} : vec<f32 x 4>
  %d = load %x[1, 4] {bounds = proven} : vec<f32 x 4>
  %p, %q, %r, %s = transpose %a, %b, %c, %d : vec<f32 x 4>, vec<f32 x 4>, vec<f32 x 4>, vec<f32 x 4>
  store %p to %y[0, 0] {bounds = proven}
  store %q to %y[0, 4] {bounds = proven}
  store %r to %y[1, 0] {bounds = proven}
  store %s to %y[1, 4] {bounds = proven})");
  CHECK(y == std::vector<float>{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15});
}

TEST_CASE("a square with rows in parts is transposed") {
  std::vector<float> y = RunBody(R"(
  %a = load %x[0, 0] {bounds = proven} : vec<f32 x 2>
  %b = load %x[0, 2] {bounds = proven} : vec<f32 x 2>
  %c = load %x[0, 4] {bounds = proven} : vec<f32 x 2>
  %d = load %x[0, 6] {bounds = proven} : vec<f32 x 2>
  %e = load %x[1, 0] {bounds = proven} : vec<f32 x 2>
  %f2 = load %x[1, 2] {bounds = proven} : vec<f32 x 2>
  %g = load %x[1, 4] {bounds = proven} : vec<f32 x 2>
  %h = load %x[1, 6] {bounds = proven} : vec<f32 x 2>
  %p, %q, %r, %s = transpose %a, %b, %c, %d, %e, %f2, %g, %h : vec<f32 x 4>, vec<f32 x 4>, vec<f32 x 4>, vec<f32 x 4>
  store %p to %y[0, 0] {bounds = proven}
  store %q to %y[0, 4] {bounds = proven}
  store %r to %y[1, 0] {bounds = proven}
  store %s to %y[1, 4] {bounds = proven})");
  CHECK(y == std::vector<float>{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15});
}

TEST_CASE("the distance to the next aligned vector, if tensors count as aligned") {
  std::vector<float> y = RunBody(R"(
  %a = align_gap %x[0, %5] {lanes = 4} : i64
  %b = align_gap %x[1, 0] {lanes = 4} : i64
  %c = align_gap %x[0, %1] {lanes = 1} : i64
  %d = cast %a : f32
  %e = cast %b : f32
  %g = cast %c : f32
  store %d to %y[0, 0] {bounds = proven}
  store %e to %y[0, 1] {bounds = proven}
  store %g to %y[0, 2] {bounds = proven}
  %v = load %x[0, 0] {bounds = proven} : vec<f32 x 4>
  store %v to %y[0, 4] {bounds = proven, cache = past})");
  CHECK(y == std::vector<float>{3, 0, 0, -1, 0, 1, 2, 3, -1, -1, -1, -1, -1, -1, -1, -1});
  CHECK(Contains(FaultOf("  %v = splat %f : vec<f32 x 4>\n"
                         "  store %v to %y[0, 2] {bounds = proven, cache = past}"),
                 "bypasses the caches with a vector that is not aligned"));
}

TEST_CASE("inactive lanes are neither read nor written, and may be out of bounds") {
  // Only the lanes whose elements (6, 7, 8 … and -2, -1, 0 …) are in bounds are active.
  std::vector<float> y = RunBody(R"(
  %6 = const 6 : i64
  %k = lane_mask %2 : vec<bool x 4>
  %v = load %x[%1, %6] where %k {bounds = proven} : vec<f32 x 4>
  store %v to %y[%0, %6] where %k {bounds = proven}
  %l = lane_numbers : vec<i64 x 4>
  %u = ge %l, %2 : vec<bool x 4>
  %w = load %x[%1, %0 - 2] where %u {bounds = proven} : vec<f32 x 4>
  store %w to %y[%0, %0 - 2] where %u {bounds = proven}
  %off = lane_mask %0 : vec<bool x 4>
  %n = load %x[%5, %5] where %off {bounds = proven} : vec<f32 x 4>
  store %n to %y[%5, %5] where %off {bounds = proven}
  %m8 = load %m[0] {bounds = proven} : vec<bool x 8>
  %r = load %x[1, 0] where %m8 {bounds = proven} : vec<f32 x 8>
  store %r to %y[1, 0] where %m8 {bounds = proven})");
  CHECK(y == std::vector<float>{8, 9, -1, -1, -1, -1, 14, 15, 8, -1, -1, 11, -1, -1, 14, -1});
}

TEST_CASE("each lane of an access is checked") {
  CHECK(Contains(FaultOf("  %v = load %x[0, %5] {bounds = proven, text = \"x\"} : vec<f32 x 4>"),
                 "'load' of 'x' accesses index 8 of dimension 1, which has size 8"));
  CHECK(Contains(FaultOf("  %v = splat %f : vec<f32 x 4>\n"
                         "  store %v to %y[0, %5] {bounds = proven, text = \"y\"}"),
                 "'store' of 'y' accesses index 8 of dimension 1, which has size 8"));
  CHECK(Contains(FaultOf("  %k = lane_mask %1 : vec<bool x 4>\n"
                         "  %v = load %x[%2, %0] where %k {bounds = proven} : vec<f32 x 4>"),
                 "accesses index 2 of dimension 0, which has size 2"));
  CHECK(Contains(FaultOf("  %v = load %x[0, %0 - 1] {bounds = proven} : vec<f32 x 4>"),
                 "accesses index -1 of dimension 1"));
}

TEST_CASE("stores of the lanes before a fault remain") {
  Tensors t;
  SingleCore core(
      InVectorKernel("  %v = splat %f : vec<f32 x 4>\n  store %v to %y[1, %5] {bounds = proven}"),
      t.arguments());
  core.FaultAtEnd();
  CHECK(t.y(1, 7) == 0.5F);
}

TEST_CASE(
    "vectors in scratch stay within the last dimension, and are written before they are read") {
  constexpr const char* kBuffer =
      "  %b = buffer_new : buffer<f32,[2,8]>\n"
      "  %v = load %x[1, 0] {bounds = proven} : vec<f32 x 8>\n"
      "  buffer_store %v to %b[%1, %0]\n";
  auto with = [&](std::string_view rest) { return kBuffer + std::string(rest); };
  std::vector<float> y = RunBody(with(R"(
  %r = buffer_load %b[%1, %3] : vec<f32 x 4>
  store %r to %y[0, 0] {bounds = proven}
  %k = lane_mask %3 : vec<bool x 4>
  %h = half 0 of %v : vec<f32 x 4>
  buffer_store %h to %b[%1, %5] where %k
  %s = buffer_load %b[%1, %5] where %k : vec<f32 x 4>
  store %s to %y[0, 4] where %k {bounds = proven}
  %t = buffer_load %b[%1, %0] : vec<f32 x 8>
  store %t to %y[1, 0] {bounds = proven})"));
  CHECK(y == std::vector<float>{11, 12, 13, 14, 8, 9, 10, -1, 8, 9, 10, 11, 12, 8, 9, 10});
  CHECK(Contains(FaultOf(with("  %r = buffer_load %b[%0, %5] : vec<f32 x 4>")),
                 "reads element 5 of scratch memory, which has not been written"));
  CHECK(Contains(FaultOf(with("  %r = buffer_load %b[%1, %5] : vec<f32 x 4>")),
                 "index 8 of dimension 1 of scratch memory, which has size 8"));
  CHECK(Contains(FaultOf(with("  %h = half 0 of %v : vec<f32 x 4>\n"
                              "  buffer_store %h to %b[%0, %5]")),
                 "index 8 of dimension 1 of scratch memory, which has size 8"));
  CHECK(Contains(FaultOf(with("  %h = half 0 of %v : vec<f32 x 4>\n"
                              "  %k = lane_mask %3 : vec<bool x 4>\n"
                              "  buffer_store %h to %b[%0, %0] where %k\n"
                              "  %r = buffer_load %b[%0, %0] : vec<f32 x 4>")),
                 "reads element 3 of scratch memory, which has not been written"));
}

TEST_CASE("undefined lanes of a masked load visibly differ from memory") {
  std::vector<float> y = RunBody(R"(
  %off = lane_mask %0 : vec<bool x 8>
  %v = load %x[0, 0] where %off {bounds = proven} : vec<f32 x 8>
  store %v to %y[0, 0] {bounds = proven}
  %b = buffer_new : buffer<f32,[8]>
  %w = buffer_load %b[%0] where %off : vec<f32 x 8>
  store %w to %y[1, 0] {bounds = proven})");
  for (float value : y) CHECK(Bits(value) == 0xA5A5A5A5);
}

TEST_CASE("loops carry vectors, which change all at once, and branches return vectors") {
  std::vector<float> y = RunBody(R"(
  %v = load %x[0, 0] {bounds = proven} : vec<f32 x 8>
  %w = load %x[1, 0] {bounds = proven} : vec<f32 x 8>
  %s, %t = loop %i in %0 .. %3 step %1 carry(%p = %v, %q = %w) {
    %first = eq %i, %0 : bool
    %r = if %first {
      %a = add %p, %f : vec<f32 x 8>
      yield %a
    } else {
      yield %p
    } : vec<f32 x 8>
    yield %q, %r
  } : vec<f32 x 8>, vec<f32 x 8>
  store %s to %y[0, 0] {bounds = proven}
  %u = loop %j in %3 .. %0 step %1 carry(%p.1 = %t) {
    yield %v
  } : vec<f32 x 8>
  store %u to %y[1, 0] {bounds = proven})");
  for (size_t lane = 0; lane < 8; ++lane) {
    CHECK(y[lane] == static_cast<float>(8 + lane));
    CHECK(y[8 + lane] == static_cast<float>(lane) + 0.5F);
  }
}

}  // namespace kdl::interp
