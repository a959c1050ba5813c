#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "interp_run.h"

namespace kdl::interp {

namespace {

constexpr const char* kMatmul = R"(
kernel @matmul.f32 dims(%M, %N, %K) (%a: tensor<f32,[M,K]> in, %b: tensor<f32,[K,N]> in, %c: tensor<f32,[M,N]> out) {
  axis i = M by 8
  axis j = N by 16
  axis k = K by 4
  %0 = const 0 : i64
  %z = const 0.0 : f32
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %1 = broadcast %z : tile<f32; i j>
    %acc = for %k: block<k> in %0 .. %K carry(%acc.1 = %1) {
      %x = load %a[%i, %k] {bounds = clip} : tile<f32; i k>
      %y = load %b[%k, %j] {bounds = clip} : tile<f32; j k>
      %3 = contraction %x, %y into %acc.1 over k {acc = f32, order = sequential} : tile<f32; i j>
      yield %3
    } : tile<f32; i j>
    store %acc to %c[%i, %j] {bounds = clip}
    yield
  }
  return
}
)";

Array<float> MatmulReference(Array<float>& a, Array<float>& b) {
  Array<float> c({a.sizes[0], b.sizes[1]});
  for (int64_t i = 0; i < a.sizes[0]; ++i) {
    for (int64_t j = 0; j < b.sizes[1]; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < a.sizes[1]; ++k) sum = std::fma(a(i, k), b(k, j), sum);
      c(i, j) = sum;
    }
  }
  return c;
}

/// Adds in the order that the language defines for `lanes64`.
float LanesSum(const std::vector<float>& terms) {
  float lanes[64] = {};
  for (size_t n = 0; n < terms.size(); ++n) lanes[n % 64] += terms[n];
  for (int width = 32; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

}  // namespace

TEST_CASE("matmul is a sequence of fmas, for any sizes, cores and orders of cores") {
  TestModule test(kMatmul);
  struct Shape {
    int64_t m, n, k;
  };
  for (Shape s : {Shape{1, 1, 1},
                  {8, 16, 4},
                  {7, 15, 3},
                  {9, 17, 5},
                  {13, 31, 29},
                  {5, 3, 0},
                  {0, 4, 4},
                  {4, 0, 4}}) {
    Array<float> a = RandomFloats({s.m, s.k}, 1);
    Array<float> b = RandomFloats({s.k, s.n}, 2);
    Array<float> expected = MatmulReference(a, b);
    for (int64_t core_num : {1, 3, 1000}) {
      for (uint64_t seed : {0, 1, 2}) {
        Array<float> c({s.m, s.n}, std::nanf(""));
        test.RunToEnd({{Argument(a), Argument(b), Argument(c)}, {}, {}}, core_num, seed);
        CHECK(SameBits(c, expected));
      }
    }
  }
}

TEST_CASE("accesses use the tensor's strides, not its sizes") {
  TestModule test(kMatmul);
  Array<float> a = RandomFloats({3, 2}, 1);
  Array<float> b = RandomFloats({2, 5}, 2);
  Array<float> expected = MatmulReference(a, b);
  Array<float> wide({3, 7}, -1.0F);
  TensorArgument c{wide.data.data(), Scalar::F32, {3, 5}, {7, 1}};
  test.RunToEnd({{Argument(a), Argument(b), c}, {}, {}});
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 5; ++j) CHECK(wide(i, j) == expected(i, j));
    CHECK(wide(i, 5) == -1.0F);
  }
}

TEST_CASE("views use the strides, and a launch is rejected if its strides do not allow the view") {
  TestModule test(R"(
kernel @rows dims(%N, %M, %K) (%x: tensor<f32,[N,M,K]> in, %y: tensor<f32,[N,(M*K)]> out) {
  axis i = (M*K) by 64
  %v = view %x {dimension = 1} : tensor<f32,[N,(M*K)]>
  %0 = const 0 : i64
  %n = mul %M, %K : i64
  %i = make_block %0, %n, %0 : block<i>
  spmd (%r: i64 in %0 .. %N) {distribute = static} {
    %t = load %v[%r, %i] {bounds = clip} : tile<f32; i>
    store %t to %y[%r, %i] {bounds = clip}
    yield
  }
  return
}
)");
  Array<float> wide = RandomFloats({2, 21}, 1);
  Array<float> y({2, 6});
  TensorArgument x{wide.data.data(), Scalar::F32, {2, 2, 3}, {21, 3, 1}};
  test.RunToEnd({{x, Argument(y)}, {}, {}});
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 6; ++j) CHECK(y(i, j) == wide(i, j));
  }
  x.strides = {21, 7, 1};
  CHECK(test.TrapOf({{x, Argument(y)}, {}, {}}).find("the stride of dimension 1 is 7, not 3") !=
        std::string::npos);
}

TEST_CASE("sums in 64-lane order and in sequential order are rounded in their own order") {
  TestModule test(R"(
kernel @sums dims(%N) (%x: tensor<f32,[N]> in, %y: tensor<f32,[4]> out) {
  axis i = N by 200
  %0 = const 0 : i64
  %i = make_block %0, %N, %0 : block<i>
  %t = load %x[%i] {bounds = clip} : tile<f32; i>
  %one = const 1.0 : f32
  %ones = broadcast %one : tile<f32; i>
  %1 = reduce sum %t over i {acc = f32, order = lanes64} : f32
  %2 = reduce sum %t over i {acc = f32, order = sequential} : f32
  %start = const 0.5 : f32
  %3 = contraction %t, %ones into %start over i {acc = f32, order = lanes64} : f32
  %4 = contraction %t, %ones into %start over i {acc = f32, order = sequential} : f32
  store %1 to %y[0] {bounds = proven}
  store %2 to %y[1] {bounds = proven}
  store %3 to %y[2] {bounds = proven}
  store %4 to %y[3] {bounds = proven}
  return
}
)");
  for (int64_t n : {0, 1, 63, 64, 65, 200}) {
    Array<float> x = RandomFloats({n}, 7);
    Array<float> y({4});
    test.RunToEnd({{Argument(x), Argument(y)}, {}, {}});
    float chain = 0;
    float chain_from_half = 0.5F;
    for (float value : x.data) {
      chain += value;
      chain_from_half += value;
    }
    CHECK(Bits(y(0)) == Bits(LanesSum(x.data)));
    CHECK(Bits(y(1)) == Bits(chain));
    CHECK(Bits(y(3)) == Bits(chain_from_half));
    if (n == 200) CHECK(y(0) != y(1));
    float lanes_from_half = 0.5F;  // the initial value; only lane 0 starts from it
    if (n > 0) {
      std::vector<float> moved = x.data;
      moved.insert(moved.begin(), 64, 0.0F);
      moved[0] = 0.5F;
      lanes_from_half = LanesSum(moved);
    }
    CHECK(Bits(y(2)) == Bits(lanes_from_half));
  }
}

TEST_CASE("several reduced axes are iterated in the order of the list") {
  auto text = [](const char* over) {
    return std::string(R"(
kernel @sum dims(%M, %N) (%x: tensor<f32,[M,N]> in, %y: tensor<f32,[1]> out) {
  axis i = M by 8
  axis j = N by 8
  %0 = const 0 : i64
  %i = make_block %0, %M, %0 : block<i>
  %j = make_block %0, %N, %0 : block<j>
  %t = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
  %1 = reduce sum %t over )") +
           over + R"( {acc = f32, order = sequential} : f32
  store %1 to %y[0] {bounds = proven}
  return
}
)";
  };
  Array<float> x({2, 2});
  x.data = {1e8F, 1.0F, -1e8F, 1.0F};
  Array<float> y({1});
  TestModule rows(text("i, j"));  // ((1e8 + 1) - 1e8) + 1: the first 1 is lost
  rows.RunToEnd({{Argument(x), Argument(y)}, {}, {}});
  CHECK(y(0) == 1.0F);
  TestModule columns(text("j, i"));  // ((1e8 - 1e8) + 1) + 1
  columns.RunToEnd({{Argument(x), Argument(y)}, {}, {}});
  CHECK(y(0) == 2.0F);
}

TEST_CASE("a reduction of no elements returns its identity") {
  TestModule test(R"(
kernel @nothing dims(%N) (%x: tensor<f32,[N]> in, %y: tensor<f32,[2]> out) {
  axis i = N by 8
  %0 = const 0 : i64
  %i = make_block %0, %N, %0 : block<i>
  %t = load %x[%i] {bounds = clip} : tile<f32; i>
  %1 = reduce max %t over i {acc = f32, order = lanes64} : f32
  %2 = reduce prod %t over i {acc = f32, order = sequential} : f32
  store %1 to %y[0] {bounds = proven}
  store %2 to %y[1] {bounds = proven}
  return
}
)");
  Array<float> x({0});
  Array<float> y({2});
  test.RunToEnd({{Argument(x), Argument(y)}, {}, {}});
  CHECK(y(0) == -std::numeric_limits<float>::infinity());
  CHECK(y(1) == 1.0F);
}

TEST_CASE("tiles broadcast by name, and a store may transpose and broadcast") {
  TestModule test(R"(
kernel @outer dims(%M, %N) (%a: tensor<i32,[M]> in, %b: tensor<i32,[N]> in, %y: tensor<i32,[N,M,2]> out) {
  axis i = M by 3
  axis j = N by 2
  axis d = 2 by 2
  %0 = const 0 : i64
  %2 = const 2 : i64
  %d = make_block %0, %2, %0 : block<d>
  spmd (%j: block<j> in %0 .. %N, %i: block<i> in %0 .. %M) {distribute = static} {
    %x = load %a[%i] {bounds = clip} : tile<i32; i>
    %y1 = load %b[%j] {bounds = clip} : tile<i32; j>
    %p = mul %x, %y1 : tile<i32; i j>
    store %p to %y[%j, %i, %d] {bounds = clip}
    yield
  }
  return
}
)");
  Array<int32_t> a({5});
  Array<int32_t> b({3});
  for (int i = 0; i < 5; ++i) a(i) = i + 1;
  for (int j = 0; j < 3; ++j) b(j) = 10 * (j + 1);
  Array<int32_t> y({3, 5, 2}, -1);
  test.RunToEnd({{Argument(a), Argument(b), Argument(y)}, {}, {}}, 2, 5);
  for (size_t j = 0; j < 3; ++j) {
    for (size_t i = 0; i < 5; ++i) {
      for (size_t d = 0; d < 2; ++d)
        CHECK(y.data[(j * 5 + i) * 2 + d] == static_cast<int>((i + 1) * 10 * (j + 1)));
    }
  }
}

TEST_CASE("affine indices, with a default value for elements that are out of bounds") {
  TestModule test(R"(
kernel @shift generics(S = 2) dims(%N, %H) (%x: tensor<f32,[N]> in, %y: tensor<f32,[H]> out) {
  axis i = H by 4
  %0 = const 0 : i64
  %e = const -1.0 : f32
  spmd (%i: block<i> in %0 .. %H) {distribute = static} {
    %t = load %x[S*%i - 3] else %e {bounds = else} : tile<f32; i>
    store %t to %y[%i] {bounds = clip}
    yield
  }
  return
}
)");
  Array<float> x = RandomFloats({6}, 3);
  Array<float> y({7});
  test.RunToEnd({{Argument(x), Argument(y)}, {}, {}});
  for (int i = 0; i < 7; ++i) {
    int from = 2 * i - 3;
    CHECK(y(i) == (from < 0 || from >= 6 ? -1.0F : x(from)));
  }
}

TEST_CASE("a gather matches ranges by name, checks each element, and skips masked elements") {
  TestModule test(R"(
kernel @gather dims(%N, %V) (%table: tensor<f32,[V,N]> in, %ids: tensor<i32,[N]> in, %use: tensor<bool,[N]> in, %y: tensor<f32,[N]> out) {
  axis i = N by 4
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %N) {distribute = static} {
    %k = load %ids[%i] {bounds = clip} : tile<i32; i>
    %m = load %use[%i] {bounds = clip} : tile<bool; i>
    %t = load %table[%k, %i] where %m {bounds = guard, text = "table[ids[i], i]"} : tile<f32; i>
    store %t to %y[%i] where %m {bounds = clip}
    yield
  }
  return
}
)");
  Array<float> table = RandomFloats({3, 5}, 4);
  Array<int32_t> ids({5});
  ids.data = {2, 0, 77, 1, 2};
  Array<uint8_t> use({5}, 1);
  use.data[2] = 0;
  Array<float> y({5}, 9.0F);
  KernelArguments arguments{{Argument(table), Argument(ids), Argument(use), Argument(y)}, {}, {}};
  test.RunToEnd(arguments);
  for (int64_t i = 0; i < 5; ++i) CHECK(y(i) == (i == 2 ? 9.0F : table(ids(i), i)));
  use.data[2] = 1;
  CHECK(test.TrapOf(arguments) ==
        "test.kir:8:5: error: index 77 is outside dimension 0 of size 3 in 'table[ids[i], i]'");
  ids.data[2] = -1;
  CHECK(test.TrapOf(arguments).find("index -1 is outside dimension 0 of size 3") !=
        std::string::npos);
}

TEST_CASE("bf16 operands of a contraction are widened exactly") {
  TestModule test(R"(
kernel @dot dims(%N) (%x: tensor<bf16,[N]> in, %y: tensor<f32,[1]> out) {
  axis i = N by 8
  %0 = const 0 : i64
  %z = const 0.0 : f32
  %i = make_block %0, %N, %0 : block<i>
  %t = load %x[%i] {bounds = clip} : tile<bf16; i>
  %1 = contraction %t, %t into %z over i {acc = f32, order = lanes64} : f32
  store %1 to %y[0] {bounds = proven}
  return
}
)");
  Array<uint16_t> x({3});
  x.data = {0x3F81, 0x4000, 0xC040};  // 1.0078125, 2, -3
  Array<float> y({1});
  test.RunToEnd({{Argument(x), Argument(y)}, {}, {}});
  CHECK(y(0) == 1.0078125F * 1.0078125F + 4.0F + 9.0F);
}

TEST_CASE("every block runs once, and the axis of a split has absolute indices") {
  TestModule test(R"(
kernel @count dims(%B, %N) (%y: tensor<i64,[B,N]> inout) {
  axis i = N by 7
  axis ii in i by 3
  %0 = const 0 : i64
  %1 = const 1 : i64
  %100 = const 100 : i64
  spmd (%b: i64 in %0 .. %B, %i: block<i> in %0 .. %N) {distribute = static} {
    %lo = block_start %i : i64
    %n = block_size %i : i64
    %hi = add %lo, %n : i64
    for %ii: block<ii> in %lo .. %hi {
      %t = load %y[%b, %ii] {bounds = clip} : tile<i64; ii>
      %p = iota %ii : tile<i64; ii>
      %q = mul %p, %100 : tile<i64; ii>
      %r = add %t, %q : tile<i64; ii>
      %w = block_index %ii : i64
      %v = add %r, %w : tile<i64; ii>
      store %v to %y[%b, %ii] {bounds = clip}
      yield
    }
    yield
  }
  return
}
)");
  for (int64_t core_num : {1, 2, 5, 100}) {
    Array<int64_t> y({3, 17}, 1'000'000);
    test.RunToEnd({{Argument(y)}, {}, {}}, core_num, static_cast<uint64_t>(core_num));
    for (int64_t b = 0; b < 3; ++b) {
      for (int64_t i = 0; i < 17; ++i) CHECK(y(b, i) == 1'000'000 + 100 * i + i % 7 / 3);
    }
  }
}

TEST_CASE("races are visible, because the order of cores depends on the seed") {
  TestModule test(R"(
kernel @race (%y: tensor<i64,[1]> out) {
  %c = core_id : i64
  store %c to %y[0] {bounds = proven}
  return
}
)");
  std::vector<bool> seen(8);
  for (uint64_t seed = 1; seed < 40; ++seed) {
    Array<int64_t> y({1});
    test.RunToEnd({{Argument(y)}, {}, {}}, 8, seed);
    seen[static_cast<size_t>(y(0))] = true;
  }
  CHECK(std::count(seen.begin(), seen.end(), true) > 3);
  Array<int64_t> y({1});
  test.RunToEnd({{Argument(y)}, {}, {}}, 8, 0);
  CHECK(y(0) == 7);
}

TEST_CASE("a division by zero traps for integers, but not for floats") {
  TestModule test(R"(
kernel @divide dims(%N) (%x: tensor<i32,[N]> in, %y: tensor<i32,[N]> out) {
  axis i = N by 4
  %0 = const 0 : i64
  %k = const 60 : i32
  spmd (%i: block<i> in %0 .. %N) {distribute = static} {
    %t = load %x[%i] {bounds = clip} : tile<i32; i>
    %q = div %k, %t {text = "60 / x[i]"} : tile<i32; i> loc("d.kdl":3:9+9)
    store %q to %y[%i] {bounds = clip}
    yield
  }
  return
}
)");
  Array<int32_t> x({3});
  x.data = {7, -7, 60};
  Array<int32_t> y({3});
  KernelArguments arguments{{Argument(x), Argument(y)}, {}, {}};
  test.RunToEnd(arguments);
  CHECK(y.data == std::vector<int32_t>{8, -9, 1});
  x.data[1] = 0;
  CHECK(test.TrapOf(arguments) == "d.kdl:3:9: error: division by zero in '60 / x[i]'");
}

TEST_CASE("a fn maps over tiles, including its control flow") {
  constexpr const char* kText = R"(
kernel @map dims(%N) (%x: tensor<i32,[N]> in, %y: tensor<i32,[N]> out) {
  axis i = N by 4
  %0 = const 0 : i64
  %one = const 1 : i32
  spmd (%i: block<i> in %0 .. %N) {distribute = static} {
    %t = load %x[%i] {bounds = clip} : tile<i32; i>
    %z = const 0 : i32
    %m = ne %t, %z : tile<bool; i>
    %q = call @steps(%t, %one)MASK : tile<i32; i>
    %r = select %m, %q, %t : tile<i32; i>
    store %r to %y[%i] {bounds = clip}
    yield
  }
  return
}

fn @steps (%x: i32, %one: i32) -> i32 {
  %100 = const 100 : i32
  %d = div %100, %x {text = "100 / x"} : i32
  %0 = const 0 : i32
  %neg = lt %x, %0 : bool
  %r = if %neg {
    %2 = neg %x : i32
    yield %2
  } else {
    %lo = const 0 : i64
    %st = const 1 : i64
    %hi = cast %x : i64
    %s = loop %n in %lo .. %hi step %st carry(%a = %d) {
      %b = add %a, %one : i32
      yield %b
    } : i32
    yield %s
  } : i32
  return %r
}
)";
  std::string masked(kText);
  std::string plain(kText);
  masked.replace(masked.find("MASK"), 4, " where %m");
  plain.replace(plain.find("MASK"), 4, "");
  Array<int32_t> x({5});
  x.data = {4, -3, 0, 1, 100};
  Array<int32_t> y({5});
  TestModule guarded(masked);
  guarded.RunToEnd({{Argument(x), Argument(y)}, {}, {}});
  CHECK(y.data == std::vector<int32_t>{29, 3, 0, 101, 101});
  TestModule bare(plain);
  CHECK(bare.TrapOf({{Argument(x), Argument(y)}, {}, {}}) ==
        "test.kir:20:3: error: division by zero in '100 / x'\ntest.kir:10:5: note: called here");
  const ir::Function& steps = bare.function(1);
  CHECK(RunFn(bare.module(), steps, {4, 1}).bits == 29);
  CHECK(RunFn(bare.module(), steps, {0, 1}).trap.has_value());
}

TEST_CASE("an error about sizes that differ names both sides") {
  TestModule test(kMatmul);
  Array<float> a({3, 4});
  Array<float> b({5, 6});
  Array<float> c({3, 6});
  CHECK(test.FailureOf({{Argument(a), Argument(b), Argument(c)}, {}, {}}) ==
        "launch of 'matmul': size K is 4 from a[M, K] dimension 1, but b[K, N] dimension 0 is 5");
  Array<float> b4({4, 6});
  CHECK(test.FailureOf({{Argument(a), Argument(b4), Argument(c)}, {}, {}}, 0) ==
        "launch of 'matmul': core_num is 0; a launch runs on 1 core or more");
  Array<float> flat({12});
  CHECK(
      test.FailureOf({{Argument(flat), Argument(b4), Argument(c)}, {}, {}}).find("2 dimensions") !=
      std::string::npos);
  Array<double> wrong({3, 6});
  CHECK(test.FailureOf({{Argument(a), Argument(b4), Argument(wrong)}, {}, {}}) ==
        "parameter c[M, N] of 'matmul' needs f32, but f64 is given");
}

TEST_CASE("derived sizes are checked, and open generics need a value") {
  TestModule test(R"(
kernel @pad generics(P = auto) dims(%N) (%x: tensor<f32,[N]> in, %y: tensor<f32,[(N + 2*P)]> out) {
  %0 = size P : i64
  %1 = cast %0 : f32
  store %1 to %y[0] {bounds = guard}
  return
}
)");
  Array<float> x({4});
  Array<float> y({10});
  test.RunToEnd({{Argument(x), Argument(y)}, {}, {{"P", 3}}});
  CHECK(y(0) == 3.0F);
  CHECK(test.FailureOf({{Argument(x), Argument(y)}, {}, {{"P", 2}}}) ==
        "launch of 'pad': size (N + (2*P)) is 8, but y[(N + (2*P))] dimension 0 is 10");
  CHECK(test.FailureOf({{Argument(x), Argument(y)}, {}, {}}).find("overflows 64 bits") !=
        std::string::npos);
}

}  // namespace kdl::interp
