#include <doctest/doctest.h>

#include <set>
#include <string>

#include "driver/run/open_outputs.h"
#include "ir_text.h"

using namespace kdl;

namespace {

using NameSet = std::set<std::string>;

/// Returns the names of the tensors whose values are unspecified, in the last function of KIR text.
NameSet OpenIn(const std::string& text) {
  ir::ReadText read(text);
  REQUIRE_MESSAGE(read.module, read.Errors());
  NameSet names;
  for (const ir::Value* open :
       driver::OpenTensors(*read.module, *read.module->functions().back())) {
    if (open->type()->kind == ir::TypeKind::Tensor) names.insert(std::string(open->name().text()));
  }
  return names;
}

/// A kernel that adds the elements of x to one element of s, in any order.
const std::string kAdd = R"(module "m"
kernel @add dims(%N) (%x: tensor<f32,[N]> in, %s: tensor<f32,[1]> inout) {
  axis i = N by 16
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %N) {distribute = static} {
    %1 = load %x[%i] {bounds = clip} : tile<f32; i>
    %2 = reduce sum %1 over i {acc = f32, order = lanes64} : f32
    update %2 into %s[0] {bounds = proven, how = add, scope = launch}
    yield
  }
  return
}
)";

}  // namespace

TEST_CASE("open outputs: sums of floats by `atomic`, and values computed from them") {
  CHECK(OpenIn(kAdd + R"(
program @p dims(%N) {export} (%x: tensor<f32,[N]> in, %s: tensor<f32,[1]> inout, %h: tensor<f32,[N]> inout) {
  %0 = launch @add on @host queue 0 (%x, %s) after() : event
  return
}
)") == NameSet{"s"});
}

TEST_CASE("open outputs: values that a kernel computes from its own tensor after `sync`") {
  CHECK(OpenIn(R"(module "m"
kernel @own dims(%N) (%x: tensor<f32,[N]> in, %y: tensor<f32,[1]> out, %z: tensor<f32,[N]> out) {
  axis i = N by 16
  axis j = N by 16
  %s = launch_tensor "s" : tensor<f32,[1]>
  %0 = const 0 : i64
  %1 = const 1 : i64
  spmd (%o: i64 in %0 .. %1) {distribute = static} {
    %2 = const 0.0 : f32
    store %2 to %s[0] {bounds = proven}
    yield
  }
  sync
  spmd (%i: block<i> in %0 .. %N) {distribute = static} {
    %4 = load %x[%i] {bounds = clip} : tile<f32; i>
    %5 = reduce sum %4 over i {acc = f32, order = lanes64} : f32
    update %5 into %s[0] {bounds = proven, how = add, scope = launch}
    yield
  }
  sync
  spmd (%p: i64 in %0 .. %1) {distribute = static} {
    %8 = load %s[0] {bounds = proven} : f32
    store %8 to %y[0] {bounds = proven}
    yield
  }
  spmd (%j: block<j> in %0 .. %N) {distribute = static} {
    %9 = load %x[%j] {bounds = clip} : tile<f32; j>
    store %9 to %z[%j] {bounds = clip}
    yield
  }
  return
}
program @p dims(%N) {export} (%x: tensor<f32,[N]> in, %y: tensor<f32,[1]> out, %z: tensor<f32,[N]> out) {
  %0 = launch @own on @host queue 0 (%x, %y, %z) after() : event
  return
}
)") == NameSet{"y"});
}

TEST_CASE("open outputs: tensors that are copied or swapped from an open tensor") {
  CHECK(OpenIn(kAdd + R"(
program @p dims(%N) {export} (%x: tensor<f32,[N]> in, %y: tensor<f32,[1]> out, %z: tensor<f32,[1]> out, %h: tensor<f32,[1]> out) {
  %sums = alloc "sums" on @host : tensor<f32,[1]>
  %0 = const 0.0 : f32
  %1 = fill %sums with %0 on @host queue 0 after() : event
  %other = alloc "other" on @host : tensor<f32,[1]>
  %2 = fill %other with %0 on @host queue 0 after() : event
  %3 = fill %h with %0 on @host queue 0 after() : event
  %4 = launch @add on @host queue 0 (%x, %sums) after(%1) : event
  %5 = copy %sums to %y on @host queue 0 after(%4) : event
  swap %sums, %other
  free %sums after(%5)
  %7 = copy %other to %z on @host queue 0 after() : event
  free %other after(%7)
  return
}
)") == NameSet{"other", "sums", "y", "z"});
}
