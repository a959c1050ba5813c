#include <doctest/doctest.h>

#include "passes_run.h"

namespace kdl::passes {

namespace {

/// Has calls that map over an axis, pass on ranges in another order, reduce, broadcast a constant, and push.
constexpr const char* kKernel = R"(
fn @row_max (%i: block<i>, %j: block<j>, %t: tile<f32; i j>) -> tile<f32; i> {
  axis i
  axis j
  %m = reduce max %t over j {acc = f32, order = sequential} : tile<f32; i>
  return %m
}

fn @spread dims(%W) (%j: block<j>, %i: block<i>, %t: tile<f32; j i>, %s: f32) -> tile<f32; j i> {
  axis j
  axis i
  %m = call @row_max(%i, %j, %t) : tile<f32; i>
  %w = cast %W : f32
  %d = sub %t, %m : tile<f32; j i>
  %n = iota %i : tile<i64; i>
  %f = cast %n : tile<f32; i>
  %e = fma %d, %w, %f : tile<f32; j i>
  %r = mul %e, %s : tile<f32; j i>
  return %r
}

fn @send dims(%E0, %E1) (%i: block<i>, %j: block<j>, %q: pipe<f32,[E0,E1]> out, %t: tile<f32; i j>, %s: f32) {
  axis i by E0
  axis j by E1
  %0 = const 0.0 : f32
  %1 = gt %s, %0 : bool
  if %1 {
    %2 = mul %t, %s : tile<f32; i j>
    push %2 to %q over i, j
    yield
  } else {
    push %t to %q over i, j
    yield
  }
  return
}

kernel @k dims(%H, %M, %N) (%x: tensor<f32,[H,M,N]> in, %y: tensor<f32,[H,M,N]> out, %z: tensor<f32,[H,M]> out) {
  axis h = H by 2
  axis i = M by 4
  axis j = N by 3
  axis h.1 = H by 2
  axis i.1 = M by 4
  axis j.1 = N by 3
  %0 = const 0 : i64
  %four = const 4 : i64
  %three = const 3 : i64
  %one = const 1.5 : f32
  %q = pipe {depth = 2, name = "q"} : pipe<f32,[4,3]>
  stage {name = "make"} {
    spmd (%h: block<h> in %0 .. %H, %i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static, domain = "blocks"} {
      %v = load %x[0, %i, %j] {bounds = clip} : tile<f32; i j>
      call @send(%four, %three, %i, %j, %q, %v, %one)
      yield
    }
    yield
  }
  stage {name = "use"} {
    spmd (%h.1: block<h.1> in %0 .. %H, %i.1: block<i.1> in %0 .. %M, %j.1: block<j.1> in %0 .. %N) {distribute = static, domain = "blocks"} {
      %p = pop %q over i.1, j.1 : tile<f32; i.1 j.1>
      %t = load %x[%h.1, %i.1, %j.1] {bounds = clip} : tile<f32; h.1 i.1 j.1>
      %u = load %x[%h.1, 0, 0] {bounds = clip} : tile<f32; h.1>
      %w = call @spread(%three, %j.1, %i.1, %t, %u) : tile<f32; h.1 i.1 j.1>
      %s = add %w, %p : tile<f32; h.1 i.1 j.1>
      store %s to %y[%h.1, %i.1, %j.1] {bounds = clip}
      %m = call @row_max(%i.1, %j.1, %t) : tile<f32; h.1 i.1>
      store %m to %z[%h.1, %i.1] {bounds = clip}
      yield
    }
    yield
  }
  return
}
)";

TEST_CASE("calls of tile functions give the same results as their bodies") {
  TestKernel called(kKernel);
  TestKernel inlined(kKernel);
  inlined.Apply(kInlineTileFunctions);
  CHECK(inlined.read.module->functions().size() == 1);
  for (int64_t m : {1, 4, 7}) {
    for (int64_t n : {1, 3, 5}) {
      Dims dims = {{"H", 3}, {"M", m}, {"N", n}};
      Outcome before = RunOn(called, dims, 1, 5);
      Outcome after = RunOn(inlined, dims, 1, 5);
      CHECK(before.trap == after.trap);
      CHECK(before.tensors == after.tensors);
    }
  }
}

}  // namespace

}  // namespace kdl::passes
