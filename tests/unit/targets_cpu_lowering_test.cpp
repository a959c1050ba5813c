#include "lowering_run.h"

// Tests that the lowering does not change any bit: each kernel here is interpreted before and after every
// pass.

namespace kdl::cpu {

namespace {

const std::vector<Dims> kOneDim = {{{"N", 0}}, {{"N", 1}}, {{"N", 7}},
                                   {{"N", 8}}, {{"N", 9}}, {{"N", 31}}};
const std::vector<Dims> kTwoDims = {{{"M", 1}, {"N", 1}},  {{"M", 0}, {"N", 5}},
                                    {{"M", 5}, {"N", 0}},  {{"M", 8}, {"N", 8}},
                                    {{"M", 7}, {"N", 13}}, {{"M", 17}, {"N", 9}}};
const std::vector<Dims> kThreeDims = {{{"M", 1}, {"N", 1}, {"K", 1}},
                                      {{"M", 5}, {"N", 7}, {"K", 0}},
                                      {{"M", 0}, {"N", 7}, {"K", 3}},
                                      {{"M", 9}, {"N", 8}, {"K", 13}},
                                      {{"M", 4}, {"N", 17}, {"K", 8}}};

}  // namespace

TEST_CASE("elementwise ops over blocks") {
  CheckLowering(R"(
kernel @saxpy dims(%N) (%a: f32, %x: tensor<f32,[N]> in, %y: tensor<f32,[N]> inout) {
  axis i = N by 8
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %N) {distribute = static} {
    %x0 = load %x[%i] {bounds = clip} : tile<f32; i>
    %y0 = load %y[%i] {bounds = clip} : tile<f32; i>
    %s = fma %x0, %a, %y0 : tile<f32; i>
    store %s to %y[%i] {bounds = clip}
    yield
  }
  return
}
)",
                kOneDim);
}

TEST_CASE("matmul: a loop-carried accumulator and a contraction") {
  CheckLowering(R"(
kernel @matmul dims(%M, %N, %K) (%a: tensor<f32,[M,K]> in, %b: tensor<f32,[K,N]> in, %c: tensor<f32,[M,N]> out) {
  axis i = M by 4
  axis j = N by 8
  axis k = K by 4
  %0 = const 0 : i64
  %z = const 0.0 : f32
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %init = broadcast %z : tile<f32; i j>
    %acc = for %k: block<k> in %0 .. %K carry(%t = %init) {
      %x = load %a[%i, %k] {bounds = clip} : tile<f32; i k>
      %y = load %b[%k, %j] {bounds = clip} : tile<f32; j k>
      %u = contraction %x, %y into %t over k {acc = f32, order = sequential} : tile<f32; i j>
      yield %u
    } : tile<f32; i j>
    store %acc to %c[%i, %j] {bounds = clip}
    yield
  }
  return
}
)",
                kThreeDims);
}

TEST_CASE("narrow floats and integers are contracted in the accumulator's type") {
  for (std::string_view type : {"f16", "bf16", "i32", "u64", "f64"}) {
    std::string element(type);
    std::string acc = element == "f16" || element == "bf16" ? "f32" : element;
    std::string zero = acc[0] == 'f' ? "0.0" : "0";
    CheckLowering("kernel @k dims(%M, %N, %K) (%a: tensor<" + element + ",[K,M]> in, %b: tensor<" +
                      element + ",[N,K]> in, %c: tensor<" + acc + R"(,[N,M]> out) {
  axis i = M by 4
  axis j = N by 8
  axis k = K by 4
  %0 = const 0 : i64
  %z = const )" + zero +
                      " : " + acc + R"(
  spmd (%j: block<j> in %0 .. %N, %i: block<i> in %0 .. %M) {distribute = static} {
    %init = broadcast %z : tile<)" +
                      acc + R"(; i j>
    %acc = for %k: block<k> in %0 .. %K carry(%t = %init) {
      %x = load %a[%k, %i] {bounds = clip} : tile<)" +
                      element + R"(; i k>
      %y = load %b[%j, %k] {bounds = clip} : tile<)" +
                      element + R"(; j k>
      %u = contraction %x, %y into %t over k {acc = )" +
                      acc + ", order = sequential} : tile<" + acc + R"(; i j>
      yield %u
    } : tile<)" + acc +
                      R"(; i j>
    store %acc to %c[%j, %i] {bounds = clip}
    yield
  }
  return
}
)",
                  kThreeDims);
  }
}

TEST_CASE("online softmax: reductions in lanes, several loop-carried tiles, a fn") {
  CheckLowering(R"(
fn @twist (%v: f32) -> f32 {
  %c = const 0.5 : f32
  %w = mul %v, %c : f32
  %u = fma %w, %w, %c : f32
  return %u
}
kernel @softmax dims(%M, %N) (%x: tensor<f32,[M,N]> in, %y: tensor<f32,[M,N]> out) {
  axis r = M by 4
  axis c = N by 70
  axis c2 = N by 8
  %0 = const 0 : i64
  %low = const -inf : f32
  %z = const 0.0 : f32
  spmd (%r: block<r> in %0 .. %M) {distribute = static} {
    %m0 = broadcast %low : tile<f32; r>
    %s0 = broadcast %z : tile<f32; r>
    %m, %s = for %c: block<c> in %0 .. %N carry(%m1 = %m0, %s1 = %s0) {
      %t = load %x[%r, %c] {bounds = clip} : tile<f32; r c>
      %top = reduce max %t over c {acc = f32, order = lanes64} : tile<f32; r>
      %m2 = max %m1, %top : tile<f32; r>
      %d = sub %t, %m2 : tile<f32; r c>
      %e = call @twist(%d) : tile<f32; r c>
      %sum = reduce sum %e over c {acc = f32, order = lanes64} : tile<f32; r>
      %d2 = sub %m1, %m2 : tile<f32; r>
      %f = call @twist(%d2) : tile<f32; r>
      %s2 = fma %s1, %f, %sum : tile<f32; r>
      yield %m2, %s2
    } : tile<f32; r>, tile<f32; r>
    for %c2: block<c2> in %0 .. %N {
      %t2 = load %x[%r, %c2] {bounds = clip} : tile<f32; r c2>
      %d3 = sub %t2, %m : tile<f32; r c2>
      %q = div %d3, %s : tile<f32; r c2>
      store %q to %y[%r, %c2] {bounds = clip}
      yield
    }
    yield
  }
  return
}
)",
                {{{"M", 1}, {"N", 1}},
                 {{"M", 3}, {"N", 69}},
                 {{"M", 4}, {"N", 70}},
                 {{"M", 5}, {"N", 71}},
                 {{"M", 2}, {"N", 150}},
                 {{"M", 3}, {"N", 0}},
                 {{"M", 0}, {"N", 4}}});
}

TEST_CASE("loop-carried tiles are swapped, passed through, or come from outside") {
  CheckLowering(
      R"(
kernel @swap dims(%M, %N) (%x: tensor<f32,[M]> in, %y: tensor<f32,[M,4]> out) {
  axis i = M by 8
  %0 = const 0 : i64
  %1 = const 1 : i64
  %two = const 2.0 : f32
  spmd (%i: block<i> in %0 .. %M) {distribute = static} {
    %a = load %x[%i] {bounds = clip} : tile<f32; i>
    %b = mul %a, %two : tile<f32; i>
    %p, %q, %r, %s = loop %n in %0 .. %N step %1 carry(%p1 = %a, %q1 = %b, %r1 = %a, %s1 = %b) {
      %sum = add %p1, %s1 : tile<f32; i>
      yield %q1, %p1, %sum, %b
    } : tile<f32; i>, tile<f32; i>, tile<f32; i>, tile<f32; i>
    store %p to %y[%i, 0] {bounds = clip}
    store %q to %y[%i, 1] {bounds = clip}
    store %r to %y[%i, 2] {bounds = clip}
    store %s to %y[%i, 3] {bounds = clip}
    yield
  }
  return
}
)",
      {{{"M", 5}, {"N", 0}}, {{"M", 5}, {"N", 1}}, {{"M", 9}, {"N", 2}}, {{"M", 9}, {"N", 5}}});
}

TEST_CASE("three loop-carried tiles rotate") {
  CheckLowering(
      R"(
kernel @turn dims(%M, %N) (%x: tensor<f32,[M,3]> in, %y: tensor<f32,[M,3]> out) {
  axis i = M by 8
  %0 = const 0 : i64
  %1 = const 1 : i64
  spmd (%i: block<i> in %0 .. %M) {distribute = static} {
    %a = load %x[%i, 0] {bounds = clip} : tile<f32; i>
    %b = load %x[%i, 1] {bounds = clip} : tile<f32; i>
    %c = load %x[%i, 2] {bounds = clip} : tile<f32; i>
    %p, %q, %r = loop %n in %0 .. %N step %1 carry(%p1 = %a, %q1 = %b, %r1 = %c) {
      %odd = const 2 : i64
      %half = rem %n, %odd : i64
      %is = eq %half, %0 : bool
      %p2, %q2, %r2 = if %is {
        yield %q1, %r1, %p1
      } else {
        %n1 = neg %r1 : tile<f32; i>
        yield %q1, %n1, %p1
      } : tile<f32; i>, tile<f32; i>, tile<f32; i>
      yield %p2, %q2, %r2
    } : tile<f32; i>, tile<f32; i>, tile<f32; i>
    store %p to %y[%i, 0] {bounds = clip}
    store %q to %y[%i, 1] {bounds = clip}
    store %r to %y[%i, 2] {bounds = clip}
    yield
  }
  return
}
)",
      {{{"M", 5}, {"N", 0}}, {{"M", 5}, {"N", 1}}, {{"M", 9}, {"N", 2}}, {{"M", 9}, {"N", 7}}});
}

TEST_CASE("branches return tiles") {
  CheckLowering(R"(
kernel @choose dims(%M, %N) (%flag: bool, %x: tensor<f32,[M,N]> in, %y: tensor<f32,[M,N]> inout) {
  axis i = M by 4
  axis j = N by 8
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %M) {distribute = static} {
    for %j: block<j> in %0 .. %N {
      %a = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
      %b = load %y[%i, %j] {bounds = clip} : tile<f32; i j>
      %last = block_index %j : i64
      %first = eq %last, %0 : bool
      %u, %v = if %first {
        %sum = add %a, %b : tile<f32; i j>
        yield %sum, %a
      } else {
        %w = if %flag {
          yield %a
        } else {
          %n = neg %b : tile<f32; i j>
          yield %n
        } : tile<f32; i j>
        yield %b, %w
      } : tile<f32; i j>, tile<f32; i j>
      %r = sub %u, %v : tile<f32; i j>
      store %r to %y[%i, %j] {bounds = clip}
      yield
    }
    yield
  }
  return
}
)",
                kTwoDims);
}

TEST_CASE("an element that is out of bounds traps at the same index with the same message") {
  CheckLowering(R"(
kernel @shift dims(%M, %N) (%x: tensor<f32,[M,N]> in, %y: tensor<f32,[M,N]> inout) {
  axis i = M by 4
  axis j = N by 8
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %a = load %x[%i, 2*%j - 3] {bounds = guard, text = "x[i, 2*j - 3]"} : tile<f32; i j> loc("k.kdl":7:3+4)
    %b = load %x[%i + 1, %j] {bounds = guard, text = "x[i + 1, j]"} : tile<f32; i j> loc("k.kdl":8:3+4)
    %c = add %a, %b : tile<f32; i j>
    store %c to %y[%j, %i] {bounds = guard, text = "y[j, i]"} loc("k.kdl":9:3+4)
    yield
  }
  return
}
)",
                kTwoDims);
  CheckLowering(R"(
kernel @gather dims(%M, %N) (%t: tensor<i32,[M]> in, %x: tensor<f32,[N]> in, %y: tensor<f32,[N,M]> inout) {
  axis i = M by 4
  axis j = N by 8
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %M) {distribute = static} {
    %n = load %t[%i] {bounds = clip} : tile<i32; i>
    %a = load %x[%n + 3] {bounds = guard, text = "x[t[i] + 3]"} : tile<f32; i> loc("k.kdl":7:3+4)
    for %j: block<j> in %0 .. %N {
      store %a to %y[%j, %i] {bounds = clip}
      yield
    }
    yield
  }
  return
}
)",
                {{{"M", 9}, {"N", 10}}, {{"M", 9}, {"N", 3}}, {{"M", 9}, {"N", 0}}});
}

TEST_CASE("an access across the order of memory traps first where the order of the axes says") {
  CheckLowering(R"(
kernel @across dims(%M, %N) (%x: tensor<f32,[N,M]> in, %y: tensor<f32,[M,N]> inout) {
  axis i = M by 4
  axis j = N by 8
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %a = load %x[2*%j, %i + 1] {bounds = guard, text = "x[2*j, i + 1]"} : tile<f32; i j>
    store %a to %y[%i, %j] {bounds = clip}
    yield
  }
  return
}
)",
                kTwoDims);
}

TEST_CASE("a tile that replaced a loop-carried tile is not overwritten while it is needed") {
  CheckLowering(R"(
kernel @place dims(%M, %N) (%x: tensor<f32,[M]> in, %y: tensor<f32,[M,2]> inout) {
  axis i = M by 8
  %0 = const 0 : i64
  %1 = const 1 : i64
  %half = const 0.5 : f32
  spmd (%i: block<i> in %0 .. %M) {distribute = static} {
    %a = load %x[%i] {bounds = clip} : tile<f32; i>
    %b = neg %a : tile<f32; i>
    %p, %q = loop %n in %0 .. %N step %1 carry(%p1 = %a, %q1 = %b) {
      %r = loop %m in %0 .. %n step %1 carry(%s = %p1) {
        %s1 = add %s, %half : tile<f32; i>
        yield %s1
      } : tile<f32; i>
      %t = mul %q1, %half : tile<f32; i>
      yield %t, %r
    } : tile<f32; i>, tile<f32; i>
    store %p to %y[%i, 0] {bounds = clip}
    store %q to %y[%i, 1] {bounds = clip}
    yield
  }
  return
}
)",
                {{{"M", 5}, {"N", 0}}, {{"M", 5}, {"N", 1}}, {{"M", 9}, {"N", 4}}});
}

TEST_CASE("elements out of bounds have a default value, and masks exclude elements") {
  CheckLowering(R"(
kernel @stencil dims(%M, %N) (%x: tensor<f32,[M,N]> in, %m: tensor<bool,[M,N]> in, %y: tensor<f32,[M,N]> inout) {
  axis i = M by 4
  axis j = N by 8
  %0 = const 0 : i64
  %pad = const 9.0 : f32
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %far = iota %j : tile<i64; j>
    %else = cast %far : tile<f32; j>
    %a = load %x[%i - 1, %j + 1] else %pad {bounds = else} : tile<f32; i j>
    %b = load %x[%i, 2*%j - 5] else %else {bounds = else} : tile<f32; i j>
    %keep = load %m[%i, %j] {bounds = clip} : tile<bool; i j>
    %c = load %x[%i + 7, %j] where %keep {bounds = guard, text = "x[i + 7, j]"} : tile<f32; i j>
    %in = iota %i : tile<i64; i>
    %seven = const 7 : i64
    %i7 = add %in, %seven : tile<i64; i>
    %fits = lt %i7, %M : tile<bool; i>
    %both = and %fits, %keep : tile<bool; i j>
    %d = load %x[%i + 7, %j] where %both {bounds = guard, text = "x[i + 7, j]"} : tile<f32; i j>
    %e = select %both, %d, %a : tile<f32; i j>
    %f = add %e, %b : tile<f32; i j>
    store %f to %y[%i, %j] where %keep {bounds = clip}
    yield
  }
  return
}
)",
                kTwoDims);
}

TEST_CASE("integer division traps where the divisor is 0, but not for masked elements") {
  CheckLowering(R"(
fn @ratio (%a: i32, %b: i32) -> i32 {
  %q = div %a, %b {text = "a / b"} : i32
  %r = rem %a, %b {text = "a % b"} : i32
  %s = add %q, %r : i32
  return %s
}
fn @outer (%a: i32, %b: i32) -> i32 {
  %c = const 2 : i32
  %big = gt %a, %c : bool
  %x = call @ratio(%a, %b) where %big : i32
  %y = select %big, %x, %b : i32
  return %y
}
kernel @divide dims(%M, %N) (%a: tensor<i32,[M]> in, %b: tensor<i32,[N]> in, %y: tensor<i32,[M,N]> inout) {
  axis i = M by 4
  axis j = N by 8
  %0 = const 0 : i64
  %z = const 0 : i32
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %u = load %a[%i] {bounds = clip} : tile<i32; i>
    %v = load %b[%j] {bounds = clip} : tile<i32; j>
    %ok = ne %v, %z : tile<bool; j>
    %q = call @ratio(%u, %v) where %ok : tile<i32; i j>
    %w = call @outer(%u, %v) where %ok : tile<i32; i j>
    %s = select %ok, %q, %u : tile<i32; i j>
    %t = select %ok, %w, %z : tile<i32; i j>
    %r = xor %s, %t : tile<i32; i j>
    store %r to %y[%i, %j] {bounds = clip}
    %bad = call @outer(%u, %v) : tile<i32; i j>
    store %bad to %y[%i, %j] {bounds = clip}
    yield
  }
  return
}
)",
                kTwoDims);
}

TEST_CASE("reductions in either order, over several axes, to tiles and to scalars") {
  for (std::string order : {"sequential", "lanes64"}) {
    std::string text = R"(
kernel @reduce dims(%M, %N) (%x: tensor<f32,[M,N]> in, %p: tensor<i32,[M,N]> in, %y: tensor<f32,[M,4]> inout, %n: tensor<i32,[M]> inout, %b: tensor<bool,[M,2]> inout, %w: tensor<f64,[N,2]> inout) {
  axis i = M by 3
  axis j = N by 100
  axis k = N by 8
  axis h = M by 70
  %0 = const 0 : i64
  %3 = const 3 : i32
  spmd (%i: block<i> in %0 .. %M) {distribute = static} {
    for %j: block<j> in %0 .. %N {
      %t = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
      %q = load %p[%i, %j] {bounds = clip} : tile<i32; i j>
      %s0 = reduce sum %t over j {acc = f32, order = ORDER} : tile<f32; i>
      %s1 = reduce prod %t over j {acc = f32, order = ORDER} : tile<f32; i>
      %s2 = reduce max %t over j {acc = f32, order = ORDER} : tile<f32; i>
      %s3 = reduce min %t over j {acc = f32, order = ORDER} : tile<f32; i>
      %n0 = reduce sum %q over j {acc = i32, order = ORDER} : tile<i32; i>
      %all = reduce sum %t over j, i {acc = f32, order = ORDER} : f32
      %all2 = reduce sum %t over i, j {acc = f32, order = ORDER} : f32
      %big = gt %q, %3 : tile<bool; i j>
      %b0 = reduce any %big over j {acc = bool, order = ORDER} : tile<bool; i>
      %b1 = reduce all %big over j {acc = bool, order = ORDER} : tile<bool; i>
      %both = sub %all, %all2 : f32
      %s4 = add %s0, %both : tile<f32; i>
      store %s4 to %y[%i, 0] {bounds = clip}
      store %s1 to %y[%i, 1] {bounds = clip}
      store %s2 to %y[%i, 2] {bounds = clip}
      store %s3 to %y[%i, 3] {bounds = clip}
      store %n0 to %n[%i] {bounds = clip}
      store %b0 to %b[%i, 0] {bounds = clip}
      store %b1 to %b[%i, 1] {bounds = clip}
      yield
    }
    yield
  }
  spmd (%k: block<k> in %0 .. %N) {distribute = static} {
    for %h: block<h> in %0 .. %M {
      %f = load %x[%h, %k] {bounds = clip} : tile<f32; k h>
      %d = cast %f : tile<f64; k h>
      %c = reduce sum %d over h {acc = f64, order = ORDER} : tile<f64; k>
      store %c to %w[%k, 0] {bounds = clip}
      %e = load %w[%k, 1] {bounds = clip} : tile<f64; k>
      %g = contraction %d, %d into %e over h {acc = f64, order = ORDER} : tile<f64; k>
      store %g to %w[%k, 1] {bounds = clip}
      yield
    }
    yield
  }
  return
}
)";
    for (size_t at; (at = text.find("ORDER")) != std::string::npos;) text.replace(at, 5, order);
    CheckLowering(text, {{{"M", 1}, {"N", 1}},
                         {{"M", 4}, {"N", 99}},
                         {{"M", 3}, {"N", 0}},
                         {{"M", 0}, {"N", 9}},
                         {{"M", 71}, {"N", 130}}});
  }
}

TEST_CASE("contractions of vectors, over several axes, and over an axis of only one side") {
  for (std::string order : {"sequential", "lanes64"}) {
    std::string text = R"(
kernel @dots dims(%M, %N) (%x: tensor<f32,[M,N]> in, %v: tensor<f32,[N]> in, %y: tensor<f32,[M]> inout, %s: tensor<f32,[M,2]> inout) {
  axis i = M by 3
  axis j = N by 100
  axis q by 5
  %0 = const 0 : i64
  %5 = const 5 : i64
  %q = make_block %5, %5, %0 : block<q>
  spmd (%i: block<i> in %0 .. %M) {distribute = static} {
    %z = load %y[%i] {bounds = clip} : tile<f32; i>
    %acc = for %j: block<j> in %0 .. %N carry(%a = %z) {
      %t = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
      %u = load %v[%j] {bounds = clip} : tile<f32; j>
      %d = contraction %t, %u into %a over j {acc = f32, order = ORDER} : tile<f32; i>
      %one = const 1.0 : f32
      %e = contraction %t, %u into %one over i, j {acc = f32, order = ORDER} : f32
      %n = iota %q : tile<i64; q>
      %f = cast %n : tile<f32; q>
      %p = mul %f, %e : tile<f32; q>
      %g = contraction %t, %p into %d over q, j {acc = f32, order = ORDER} : tile<f32; i>
      yield %g
    } : tile<f32; i>
    store %acc to %s[%i, 0] {bounds = clip}
    store %z to %s[%i, 1] {bounds = clip}
    yield
  }
  return
}
)";
    for (size_t at; (at = text.find("ORDER")) != std::string::npos;) text.replace(at, 5, order);
    CheckLowering(text, {{{"M", 1}, {"N", 1}},
                         {{"M", 4}, {"N", 99}},
                         {{"M", 3}, {"N", 0}},
                         {{"M", 7}, {"N", 130}}});
  }
}

TEST_CASE("ranges below zero, scalar loop variables, and empty and backward ranges") {
  CheckLowering(R"(
kernel @ranges dims(%N) (%lo: i32, %hi: i32, %y: tensor<i64,[N,4]> inout) {
  axis i by 4
  axis k by 3
  %0 = const 0 : i64
  %1 = const 1 : i64
  %off = const -9223372036854775808 : i64
  %lo8 = cast %lo : i64
  %hi8 = cast %hi : i64
  %end = add %N, %lo8 : i64
  %2 = const 2 : i64
  spmd (%b: i64 in %lo8 .. %end, %i: block<i> in %lo8 .. %hi8, %n: i64 in %1 .. %2) {distribute = static} {
    %row = sub %b, %lo8 : i64
    %index = block_index %i : i64
    %size = block_size %i : i64
    %start = block_start %i : i64
    %is = eq %index, %0 : bool
    if %is {
      store %size to %y[%row, 0] {bounds = proven}
      store %start to %y[%row, 1] {bounds = proven}
      yield
    } else {
      yield
    }
    yield
  }
  %five = const 5 : i64
  %last = add %off, %five : i64
  spmd (%b2: i64 in %0 .. %N) {distribute = static} {
    %sum, %count = for %k: block<k> in %off .. %last carry(%s = %0, %c = %0) {
      %start2 = block_start %k : i64
      %size2 = block_size %k : i64
      %index2 = block_index %k : i64
      %s2 = add %s, %start2 : i64
      %s3 = mul %s2, %size2 : i64
      %c2 = add %c, %index2 : i64
      %c3 = add %c2, %1 : i64
      yield %s3, %c3
    } : i64, i64
    %none = for %k2: block<k> in %last .. %off carry(%s4 = %five) {
      yield %0
    } : i64
    %both = add %count, %none : i64
    store %sum to %y[%b2, 2] {bounds = proven}
    store %both to %y[%b2, 3] {bounds = proven}
    yield
  }
  return
}
)",
                kOneDim);
}

TEST_CASE("stores and loads of one tensor keep their order") {
  CheckLowering(R"(
kernel @order dims(%M, %N) (%x: tensor<f32,[M,N]> inout, %y: tensor<f32,[N]> in) {
  axis i = M by 64
  axis j by 4
  axis k by 4
  %0 = const 0 : i64
  %4 = const 4 : i64
  %1 = const 1 : i64
  %one = const 1.0 : f32
  spmd (%i: block<i> in %0 .. %M) {distribute = static} {
    %j = make_block %0, %4, %0 : block<j>
    %k = make_block %0, %4, %0 : block<k>
    %a = load %x[%i, %j] {bounds = proven} : tile<f32; i j>
    %b = add %a, %one : tile<f32; i j>
    store %b to %x[%i, -%j + 3] {bounds = proven}
    %c = load %x[%i, %j] {bounds = proven} : tile<f32; i j>
    %d = add %c, %a : tile<f32; i j>
    store %d to %x[%i, %j] {bounds = proven}
    %e = load %x[%i, %j] {bounds = proven} : tile<f32; i j>
    %f = load %x[%i, 0] {bounds = proven} : tile<f32; i>
    store %f to %x[%i, %k] {bounds = proven}
    %g = add %e, %f : tile<f32; i j>
    store %g to %x[%i, 3 - %j] {bounds = proven}
    %h = load %x[%i, 2] {bounds = proven} : tile<f32; i>
    %l = load %y[%k + 1] {bounds = proven} : tile<f32; k>
    %m = mul %h, %l : tile<f32; i k>
    %o = reduce sum %m over k {acc = f32, order = sequential} : tile<f32; i>
    store %o to %x[%i, 4] {bounds = proven}
    store %one to %x[%i, 5] {bounds = proven}
    yield
  }
  return
}
)",
                {{{"M", 9}, {"N", 6}}, {{"M", 1}, {"N", 8}}});
}

TEST_CASE("tiles are live across loops and branches until their last use") {
  CheckLowering(R"(
kernel @live dims(%M, %N) (%x: tensor<f32,[M,N]> in, %y: tensor<f32,[M,N]> inout) {
  axis i = M by 4
  axis j = N by 4
  axis k = N by 4
  %0 = const 0 : i64
  %half = const 0.5 : f32
  spmd (%i: block<i> in %0 .. %M) {distribute = static} {
    %base = broadcast %half : tile<f32; i>
    %r = for %j: block<j> in %0 .. %N carry(%s = %base) {
      %t = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
      %sum = reduce sum %t over j {acc = f32, order = sequential} : tile<f32; i>
      %s2 = fma %s, %half, %sum : tile<f32; i>
      %inner = for %k: block<k> in %0 .. %N carry(%w = %s) {
        %v = load %x[%i, %k] {bounds = clip} : tile<f32; i k>
        %u = contraction %v, %t into %w over k, j {acc = f32, order = sequential} : tile<f32; i>
        %u2 = add %u, %s2 : tile<f32; i>
        yield %u2
      } : tile<f32; i>
      %out = sub %t, %inner : tile<f32; i j>
      %out2 = add %out, %base : tile<f32; i j>
      store %out2 to %y[%i, %j] {bounds = clip}
      %next = add %s2, %s : tile<f32; i>
      yield %next
    } : tile<f32; i>
    for %k2: block<k> in %0 .. %N {
      %old = load %y[%i, %k2] {bounds = clip} : tile<f32; i k>
      %sub = sub %old, %r : tile<f32; i k>
      %add = add %sub, %base : tile<f32; i k>
      store %add to %y[%i, %k2] {bounds = clip}
      yield
    }
    yield
  }
  return
}
)",
                kTwoDims);
}

}  // namespace kdl::cpu
