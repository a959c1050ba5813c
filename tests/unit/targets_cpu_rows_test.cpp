#include "lowering_run.h"

// Tests reductions that are fused into an elementwise loop, and loads that each loop repeats. The sizes
// are around 64 lanes. The kernels include masks, traps and stores.

namespace kdl::cpu {

namespace {

const std::vector<Dims> kAroundLanes = {
    {{"M", 3}, {"N", 0}},   {{"M", 1}, {"N", 1}},   {{"M", 2}, {"N", 17}},
    {{"M", 5}, {"N", 63}},  {{"M", 4}, {"N", 64}},  {{"M", 3}, {"N", 65}},
    {{"M", 1}, {"N", 127}}, {{"M", 7}, {"N", 200}}, {{"M", 2}, {"N", 331}}};

}  // namespace

TEST_CASE("one loop stores and reduces twice, before elementwise loops that load the row again") {
  CheckLowering(R"(
kernel @norm dims(%M, %N) (%x: tensor<f32,[M,N]> in, %w: tensor<f32,[N]> in, %y: tensor<f32,[M,N]> inout, %s: tensor<f32,[M,2]> out) {
  axis i = M by 3
  axis j = N by 200
  %0 = const 0 : i64
  %h = const 0.5 : f32
  spmd (%i: block<i> in %0 .. %M) {distribute = static} {
    for %j: block<j> in %0 .. %N {
      %a = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
      %b = load %y[%i, %j] {bounds = clip} : tile<f32; i j>
      %c = load %w[%j] {bounds = clip} : tile<f32; j>
      %d = mul %a, %h : tile<f32; i j>
      store %d to %y[%i, %j] {bounds = clip}
      %m = reduce max %a over j {acc = f32, order = lanes64} : tile<f32; i>
      %q = fma %a, %a, %b : tile<f32; i j>
      %v = reduce sum %q over j {acc = f32, order = lanes64} : tile<f32; i>
      store %m to %s[%i, 0] {bounds = clip}
      store %v to %s[%i, 1] {bounds = clip}
      %e = sub %a, %m : tile<f32; i j>
      %f = fma %e, %c, %v : tile<f32; i j>
      store %f to %y[%i, %j] {bounds = clip}
      yield
    }
    yield
  }
  return
}
)",
                kAroundLanes);
}

TEST_CASE("a reduction of elements, some of which a mask or a bound excludes") {
  CheckLowering(R"(
kernel @masked dims(%M, %N) (%x: tensor<f64,[M,N]> in, %p: tensor<bool,[M,N]> in, %y: tensor<f64,[M,2]> out) {
  axis i = M by 3
  axis j = N by 100
  %0 = const 0 : i64
  %z = const 1.5 : f64
  spmd (%i: block<i> in %0 .. %M) {distribute = static} {
    %t = broadcast %z : tile<f64; i>
    %s = for %j: block<j> in %0 .. %N carry(%acc = %t) {
      %m = load %p[%i, %j] {bounds = clip} : tile<bool; i j>
      %a = load %x[%i, %j] where %m {bounds = clip} : tile<f64; i j>
      %b = select %m, %a, %z : tile<f64; i j>
      %c = load %x[%i, %j + 3] else %z {bounds = else} : tile<f64; i j>
      %d = mul %b, %c : tile<f64; i j>
      %r = reduce sum %d over j {acc = f64, order = lanes64} : tile<f64; i>
      %n = reduce min %c over j {acc = f64, order = lanes64} : tile<f64; i>
      store %n to %y[%i, 1] {bounds = clip}
      %u = add %acc, %r : tile<f64; i>
      yield %u
    } : tile<f64; i>
    store %s to %y[%i, 0] {bounds = clip}
    yield
  }
  return
}
)",
                kAroundLanes);
}

TEST_CASE("a fused reduction traps where the elementwise op alone would trap") {
  CheckLowering(R"(
kernel @guarded dims(%M, %N) (%x: tensor<f32,[M,N]> in, %y: tensor<f32,[M]> inout) {
  axis i = M by 3
  axis j = N by 80
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %M) {distribute = static} {
    for %j: block<j> in %0 .. %N {
      %a = load %x[%i, %j + 2] {bounds = guard, text = "x[i, j + 2]"} : tile<f32; i j> loc("k.kdl":7:3+4)
      %r = reduce sum %a over j {acc = f32, order = lanes64} : tile<f32; i>
      store %r to %y[%i] {bounds = clip}
      yield
    }
    yield
  }
  return
}
)",
                kAroundLanes);
}

TEST_CASE("reductions of gathered elements, of narrow types, and of 16-bit elements in pairs") {
  CheckLowering(R"(
kernel @mixed dims(%M, %N) (%x: tensor<bf16,[M,N]> in, %t: tensor<i32,[M,N]> in, %v: tensor<f32,[N]> in, %y: tensor<f32,[M,3]> inout, %b: tensor<i8,[M,N]> in, %c: tensor<i8,[M]> out) {
  axis i = M by 3
  axis j = N by 90
  %0 = const 0 : i64
  %zero = const 0 : i32
  %one = const 1.0 : f32
  spmd (%i: block<i> in %0 .. %M) {distribute = static} {
    for %j: block<j> in %0 .. %N {
      %n = load %t[%i, %j] {bounds = clip} : tile<i32; i j>
      %o = mul %n, %zero : tile<i32; i j>
      %g = load %v[%o] {bounds = guard, text = "v[o]"} : tile<f32; i j> loc("k.kdl":7:3+4)
      %r = reduce sum %g over j {acc = f32, order = lanes64} : tile<f32; i>
      store %r to %y[%i, 0] {bounds = clip}
      %a = load %x[%i, %j] {bounds = clip} : tile<bf16; i j>
      %w = cast %a : tile<f32; i j>
      %q = load %v[%j] {bounds = clip} : tile<f32; j>
      %d = contraction %w, %q into %r over j {acc = f32, order = lanes64} : tile<f32; i>
      store %d to %y[%i, 1] {bounds = clip}
      %e = contraction %w, %w into %one over i, j {acc = f32, order = lanes64} : f32
      %f = add %d, %e : tile<f32; i>
      store %f to %y[%i, 2] {bounds = clip}
      %k = load %b[%i, %j] {bounds = clip} : tile<i8; i j>
      %m = reduce max %k over j {acc = i8, order = lanes64} : tile<i8; i>
      store %m to %c[%i] {bounds = clip}
      yield
    }
    yield
  }
  return
}
)",
                kAroundLanes);
}

TEST_CASE("rows times a vector, and precomputed numbers times rows") {
  CheckLowering(R"(
kernel @decoded dims(%M, %N) (%x: tensor<f32,[M,N]> in, %v: tensor<f32,[N]> in, %y: tensor<f32,[M,3]> inout, %z: tensor<f32,[N]> inout) {
  axis i = M by 8
  axis j = N by 400
  %0 = const 0 : i64
  %zero = const 0.0 : f32
  %minus = const -0.0 : f32
  for %i: block<i> in %0 .. %M {
    for %j: block<j> in %0 .. %N {
      %none = broadcast %zero : tile<f32; i>
      %a = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
      %b = load %v[%j] {bounds = clip} : tile<f32; j>
      %s = contraction %a, %b into %none over j {acc = f32, order = lanes64} : tile<f32; i>
      store %s to %y[%i, 0] {bounds = clip}
      %few = broadcast %minus : tile<f32; i>
      %c = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
      %t = contraction %b, %c into %few over j {acc = f32, order = lanes64} : tile<f32; i>
      store %t to %y[%i, 1] {bounds = clip}
      %d = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
      %u = contraction %d, %b into %s over j {acc = f32, order = lanes64} : tile<f32; i>
      store %u to %y[%i, 2] {bounds = clip}
      %p = mul %s, %t : tile<f32; i>
      %n = broadcast %zero : tile<f32; j>
      %e = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
      %w = contraction %p, %e into %n over i {acc = f32, order = sequential} : tile<f32; j>
      store %w to %z[%j] {bounds = clip}
      yield
    }
    yield
  }
  return
}
)",
                {{{"M", 1}, {"N", 1}}, {{"M", 3}, {"N", 65}}, {{"M", 7}, {"N", 139}}});
}

}  // namespace kdl::cpu
