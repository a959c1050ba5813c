#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "claims_text.h"
#include "interp_run.h"
#include "ir/builder.h"
#include "ir/op_kind.h"

namespace kdl::interp {

namespace {

std::string InKernel(std::string_view body) {
  return "kernel @k (%y: tensor<f32,[4]> inout) {\n  axis i = 4 by 4\n" + std::string(body) +
         "\n  return\n}\n";
}

}  // namespace

TEST_CASE("a matmul with loops over scalars and scratch") {
  TestModule test(R"(
kernel @matmul dims(%M, %N, %K) (%a: tensor<f32,[M,K]> in, %b: tensor<f32,[K,N]> in, %c: tensor<f32,[M,N]> out) {
  %0 = const 0 : i64
  %1 = const 1 : i64
  %z = const 0.0 : f32
  %id = core_id : i64
  %num = core_num : i64
  loop %i in %id .. %M step %num {
    %row = buffer_new : buffer<f32,[32]>
    loop %j in %0 .. %N step %1 {
      buffer_store %z to %row[%j]
      yield
    }
    loop %k in %0 .. %K step %1 {
      %x = load %a[%i, %k] {bounds = proven} : f32
      loop %j.1 in %0 .. %N step %1 {
        %y = load %b[%k, %j.1] {bounds = proven} : f32
        %s = buffer_load %row[%j.1] : f32
        %t = fma %x, %y, %s : f32
        buffer_store %t to %row[%j.1]
        yield
      }
      yield
    }
    loop %j.2 in %0 .. %N step %1 {
      %s.1 = buffer_load %row[%j.2] : f32
      store %s.1 to %c[%i, %j.2] {bounds = proven}
      yield
    }
    yield
  }
  return
}
)");
  Array<float> a = RandomFloats({11, 7}, 1);
  Array<float> b = RandomFloats({7, 13}, 2);
  for (int64_t core_num : {1, 4}) {
    Array<float> c({11, 13});
    test.RunToEnd({{Argument(a), Argument(b), Argument(c)}, {}, {}}, core_num, 3);
    for (int64_t i = 0; i < 11; ++i) {
      for (int64_t j = 0; j < 13; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < 7; ++k) sum = std::fma(a(i, k), b(k, j), sum);
        CHECK(Bits(c(i, j)) == Bits(sum));
      }
    }
  }
}

TEST_CASE("loop-carried values change all at once") {
  TestModule test(R"(
fn @fibonacci (%n: i64) -> i64 {
  %0 = const 0 : i64
  %1 = const 1 : i64
  %a, %b, %c, %d, %e = loop %i in %0 .. %n step %1 carry(%p = %0, %q = %1, %r = %0, %s = %0, %t = %0) {
    %sum = add %p, %q : i64
    yield %q, %sum, %s, %t, %r
  } : i64, i64, i64, i64, i64
  return %a
}
)");
  for (uint64_t n = 0, a = 0, b = 1; n < 90; ++n) {
    CHECK(RunFn(test.module(), test.function(), {n}).bits == a);
    b = std::exchange(a, b) + b;
  }
}

TEST_CASE("a loop may end at the largest integer") {
  TestModule test(R"(
fn @count (%lo: i64, %hi: i64, %step: i64) -> i64 {
  %0 = const 0 : i64
  %1 = const 1 : i64
  %n = loop %i in %lo .. %hi step %step carry(%c = %0) {
    %d = add %c, %1 : i64
    yield %d
  } : i64
  return %n
}
)");
  auto count = [&](int64_t lo, int64_t hi, int64_t step) {
    return RunFn(
        test.module(), test.function(),
        {static_cast<uint64_t>(lo), static_cast<uint64_t>(hi), static_cast<uint64_t>(step)});
  };
  CHECK(count(INT64_MAX - 5, INT64_MAX, 4).bits == 2);
  CHECK(count(INT64_MIN, INT64_MAX, INT64_MAX).bits == 3);
  CHECK(count(5, 5, 1).bits == 0);
  CHECK(count(0, 10, 3).bits == 4);
  FnResult stuck = count(0, 10, 0);
  REQUIRE(stuck.trap);
  CHECK(Contains(ToString(*stuck.trap), "step 0 of 'i' is not positive"));
}

TEST_CASE("each index of a dynamically scheduled loop runs on one core, whenever the loop runs") {
  TestModule test{std::string(kDynamicCountersKernel)};
  for (int64_t core_num : {1, 2, 7, 100}) {
    for (uint64_t seed : {0, 1, 2, 3, 4, 5}) {
      Array<int64_t> y({9, 5});
      Array<int64_t> z({5});
      test.RunToEnd({{Argument(y), Argument(z)}, {}, {}}, core_num, seed);
      for (int64_t t = 0; t < 9; ++t) {
        for (int64_t i = 0; i < 5; ++i) CHECK(y(t, i) == (i < t ? 1 : 0));
      }
      CHECK(z.data == std::vector<int64_t>(5, 1));
    }
  }
}

TEST_CASE("an elementwise loop returns tiles, for any order of its blocks") {
  TestModule test(R"(
kernel @k dims(%M, %N) (%x: tensor<i64,[M,N]> in, %y: tensor<i64,[M,N]> out, %z: tensor<i64,[1]> out) {
  axis i = M by 8
  axis j = N by 8
  %0 = const 0 : i64
  %2 = const 2 : i64
  %m = sub %M, %2 : i64
  %i = make_block %2, %m, %0 : block<i>
  %j = make_block %0, %N, %0 : block<j>
  %t, %u = elementwise (%q in %j, %p in %i) {
    %a = load %x[%p, %q] {bounds = proven} : i64
    %b = add %a, %p : i64
    yield %a, %b
  } : tile<i64; i j>, tile<i64; i j>
  %s = elementwise (%p.1 in %i, %q.1 in %j) {
    %c = element %t at (%p.1, %q.1) : i64
    %d = element %u at (%p.1, %q.1) : i64
    %e = mul %c, %d : i64
    yield %e
  } : tile<i64; i j>
  store %s to %y[%i, %j] {bounds = proven}
  %sum = reduce sum %s over i, j {acc = i64, order = sequential} : i64
  store %sum to %z[0] {bounds = proven}
  return
}
)");
  Array<int64_t> x({5, 3});
  for (size_t n = 0; n < x.data.size(); ++n) x.data[n] = static_cast<int64_t>(n);
  Array<int64_t> y({5, 3}, -1);
  Array<int64_t> z({1});
  test.RunToEnd({{Argument(x), Argument(y), Argument(z)}, {}, {}});
  int64_t sum = 0;
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      int64_t expected = i < 2 ? -1 : x(i, j) * (x(i, j) + i);
      CHECK(y(i, j) == expected);
      if (i >= 2) sum += expected;
    }
  }
  CHECK(z(0) == sum);
}

TEST_CASE("a failed check traps with its dimension, index and bound") {
  TestModule test(InKernel(R"(
  %n = const 9 : i64
  %b = const 4 : i64
  check %n in %b {dimension = 2, text = "x[a, b, n]"} loc("c.kdl":7:3+10))"));
  Array<float> y({4});
  CHECK(test.TrapOf({{Argument(y)}, {}, {}}) ==
        "c.kdl:7:3: error: index 9 is outside dimension 2 of size 4 in 'x[a, b, n]'");
}

TEST_CASE("a wrong proof is an internal error, not a trap") {
  Array<float> y({4});
  SingleCore load(InKernel(R"(
  %n = const 4 : i64
  %v = load %y[%n] {bounds = proven, text = "y[n]"} : f32)"),
                  {Argument(y)});
  CHECK(Contains(load.FaultAtEnd(),
                 "'load' of 'y[n]' accesses index 4 of dimension 0, which has size 4, although "
                 "its bounds mode is 'proven'"));
  SingleCore tile(InKernel(R"(
  %0 = const 2 : i64
  %n = const 3 : i64
  %i = make_block %0, %n, %0 : block<i>
  %v = const 1.0 : f32
  store %v to %y[%i] {bounds = clip})"),
                  {Argument(y)});
  CHECK(Contains(tile.FaultAtEnd(),
                 "accesses index 4 of dimension 0, which has size 4, although its bounds mode is "
                 "'clip'"));
}

TEST_CASE("scratch must be written before it is read") {
  Array<float> y({4});
  SingleCore read(InKernel(R"(
  %0 = const 0 : i64
  %1 = const 1 : i64
  %b = buffer_new : buffer<f32,[2,2]>
  %v = const 1.0 : f32
  buffer_store %v to %b[%1, %0]
  %w = buffer_load %b[%1, %0] : f32
  %u = buffer_load %b[%1, %1] : f32)"),
                  {Argument(y)});
  CHECK(
      Contains(read.FaultAtEnd(), "reads element 3 of scratch memory, which has not been written"));
  SingleCore again(InKernel(R"(
  %0 = const 0 : i64
  %1 = const 1 : i64
  %2 = const 2 : i64
  %v = const 1.0 : f32
  loop %n in %0 .. %2 step %1 {
    %b = buffer_new : buffer<f32,[2]>
    %first = eq %n, %0 : bool
    if %first {
      buffer_store %v to %b[%0]
      yield
    } else {
      yield
    }
    %w = buffer_load %b[%0] : f32
    yield
  })"),
                   {Argument(y)});
  CHECK(Contains(again.FaultAtEnd(), "reads element 0 of scratch"));
  SingleCore outside(InKernel(R"(
  %2 = const 2 : i64
  %v = const 1.0 : f32
  %b = buffer_new : buffer<f32,[2]>
  buffer_store %v to %b[%2])"),
                     {Argument(y)});
  CHECK(
      Contains(outside.FaultAtEnd(), "index 2 of dimension 0 of scratch memory, which has size 2"));
}

TEST_CASE("a tile belongs to its block") {
  Array<float> y({4});
  SingleCore element(InKernel(R"(
  %0 = const 0 : i64
  %2 = const 2 : i64
  %3 = const 3 : i64
  %i = make_block %0, %2, %0 : block<i>
  %t = load %y[%i] {bounds = proven} : tile<f32; i>
  %v = element %t at (%3) : f32)"),
                     {Argument(y)});
  CHECK(Contains(element.FaultAtEnd(), "reads index 3 of axis number 0, whose block is 0 + 2"));
}

TEST_CASE("a tile of another block is an internal error if the verifier missed it") {
  TestModule test(InKernel(R"(
  %0 = const 0 : i64
  %2 = const 2 : i64
  %4 = const 4 : i64
  loop %k in %0 .. %4 step %2 {
    %later = gt %k, %0 : bool
    %i = make_block %k, %2, %0 : block<i>
    %t = load %y[%i] {bounds = proven} : tile<f32; i>
    if %later {
      %u = add %t, %t : tile<f32; i>
      yield
    } else {
      yield
    }
    yield
  })"));
  // The second iteration adds the tile that the first iteration loaded.
  ir::Region* body = test.function().body->last()->prev()->region();
  ir::Op* branch = body->terminator()->prev();
  ir::Op* load = branch->prev();
  REQUIRE(branch->kind() == ir::OpKind::If);
  REQUIRE(load->kind() == ir::OpKind::Load);
  body->Remove(branch);
  body->InsertBefore(branch, load);
  Result<Image> image = Prepare(test.module(), test.function(), [](Name) { return std::nullopt; });
  REQUIRE(image.ok());
  Array<float> y({4});
  Machine machine(*image, {});
  machine.BindTensor(
      0, {reinterpret_cast<std::byte*>(y.data.data()), Scalar::F32, {4}, {1}, TensorId()});
  REQUIRE(machine.RunToEnd() == MachineState::Broken);
  CHECK(Contains(machine.fault(),
                 "uses a tile computed for block 0 + 2 of axis 0, but that block is now 2 + 2"));
}

TEST_CASE("a run can be suspended between any two ops") {
  constexpr const char* kText = R"(
kernel @steps (%y: tensor<i64,[8]> out) {
  axis i = 8 by 3
  %0 = const 0 : i64
  %8 = const 8 : i64
  %1 = const 1 : i64
  %s = for %i: block<i> in %0 .. %8 carry(%a = %0) {
    %p = iota %i : tile<i64; i>
    %q = call @twice(%p) : tile<i64; i>
    store %q to %y[%i] {bounds = clip}
    %r = reduce sum %q over i {acc = i64, order = sequential} : i64
    %b = add %a, %r : i64
    yield %b
  } : i64
  store %s to %y[0] {bounds = proven}
  return
}

fn @twice (%x: i64) -> i64 {
  %y = add %x, %x : i64
  return %y
}
)";
  Array<int64_t> whole({8});
  SingleCore all(kText, {Argument(whole)});
  CHECK(all.machine.RunToEnd() == MachineState::Done);
  CHECK(whole.data == std::vector<int64_t>{56, 2, 4, 6, 8, 10, 12, 14});
  Array<int64_t> first({8});
  Array<int64_t> second({8});
  SingleCore one(kText, {Argument(first)});
  SingleCore two(kText, {Argument(second)});
  int steps = 0;
  for (; one.machine.state() == MachineState::Running; ++steps) {
    one.machine.RunSteps(1);
    two.machine.RunSteps(1);
  }
  CHECK(steps == 40);
  CHECK(two.machine.state() == MachineState::Done);
  CHECK(SameBits(first, whole));
  CHECK(SameBits(second, whole));
}

}  // namespace kdl::interp
