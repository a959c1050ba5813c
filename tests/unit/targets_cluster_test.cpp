#include <doctest/doctest.h>

#include <algorithm>

#include "ir/views.h"
#include "targets/cluster/pipelines.h"
#include "workgroup_lowering.h"

// Tests that block copies do not change any bit. Each kernel is interpreted before and after the passes for
// clusters. After the last pass it also runs worker by worker, and each copy is delayed until the kernel
// waits for it, so that the tests notice when a wait or a barrier is removed.

namespace kdl::cluster {

namespace {

constexpr auto kPasses = simt::Both(kPipePipeline, kLoopPipeline);

// Keeps stages from being fused into one loop.
constexpr std::array kApart = {&kLayOutPipes, &kInjectPipeBuffers, &kInlineFunctions,
                               &kCheckStatics, &kLowerGroupReductions};
constexpr auto kPassesApart = simt::Both(kApart, kLoopPipeline);

simt::WorkgroupLowering LoweringOf(const std::string& text) {
  bool has_stages = text.find("stage {") != std::string::npos;
  return {has_stages ? std::span<const Pass* const>(kPassesApart) : kPasses, {}};
}

constexpr int64_t kRoom = 1 << 20;

simt::SimtFacts MachineOf(int64_t threads, int64_t workgroup_bytes = kRoom) {
  simt::SimtFacts facts;
  facts.threads = facts.most_threads = threads;
  facts.held_bytes = 64;
  facts.workgroup_bytes = facts.workgroup_limit = facts.ring_bytes = workgroup_bytes;
  return facts;
}

void CheckLowering(const std::string& text, const std::vector<Dims>& shapes) {
  for (int64_t threads : {1, 4, 16})
    simt::CheckLowering(LoweringOf(text), text, MachineOf(threads), shapes);
}

const std::vector<Dims> kShapes = {{{"M", 4}, {"N", 8}, {"K", 4}},
                                   {{"M", 9}, {"N", 0}, {"K", 13}},
                                   {{"M", 9}, {"N", 11}, {"K", 13}},
                                   {{"M", 9}, {"N", 17}, {"K", 0}},
                                   {{"M", 1}, {"N", 3}, {"K", 1}}};

size_t CheckMissed(const std::string& text, ir::OpKind kind) {
  return simt::CheckMissed(LoweringOf(text), text, MachineOf(4), kind, kShapes);
}

constexpr const char* kMatmul = R"(
kernel @matmul dims(%M, %N, %K) (%a: tensor<f32,[M,K]> in, %b: tensor<f32,[K,N]> in, %c: tensor<f32,[M,N]> out) {
  axis i = M by 4
  axis j = N by 8
  axis k = K by 4
  %0 = const 0 : i64
  %z = const 0.0 : f32
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %init = broadcast %z : tile<f32; i j>
    %acc = for %k: block<k> in %0 .. %K carry(%t = %init) {ahead = 2} {
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
)";

// The products are added to existing values, which are not loaded in the order of memory.
constexpr const char* kAddsTo = R"(
kernel @adds dims(%M, %N, %K) (%a: tensor<i32,[M,K]> in, %b: tensor<i32,[N,K]> in, %c: tensor<i32,[N,M]> inout) {
  axis i = M by 8
  axis j = N by 8
  axis k = K by 4
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %init = load %c[%j, %i] {bounds = clip} : tile<i32; i j>
    %acc = for %k: block<k> in %0 .. %K carry(%t = %init) {
      %x = load %a[%i, %k] {bounds = clip} : tile<i32; i k>
      %y = load %b[%j, %k] {bounds = clip} : tile<i32; j k>
      %u = contraction %x, %y into %t over k {acc = i32, order = sequential} : tile<i32; i j>
      yield %u
    } : tile<i32; i j>
    store %acc to %c[%j, %i] {bounds = clip}
    yield
  }
  return
}
)";

// There are copies before and after the computation: of a strided column of a tensor, and of a slice of a
// three-dimensional tensor.
constexpr const char* kColumns = R"(
kernel @columns dims(%M, %N, %K) (%a: tensor<f32,[M,N]> in, %b: tensor<f32,[K,M,N]> in, %c: tensor<f32,[K,M,N]> out) {
  axis i = M by 4
  axis j = N by 8
  axis k = K by 2
  %0 = const 0 : i64
  %1 = const 2.0 : f32
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    for %k: block<k> in %0 .. %K {
      %x = load %a[%i, %0] {bounds = proven} : tile<f32; i>
      %y = mul %x, %1 : tile<f32; i>
      %z = load %b[%k, %i, %j] {bounds = clip} : tile<f32; i j k>
      %u = add %y, %z : tile<f32; i j k>
      store %u to %c[%k, %i, %j] {bounds = clip}
      yield
    }
    yield
  }
  return
}
)";

// The stages run at different rates. While iterations of the first stage wait, other stages run with copies
// in progress. Iterations of the second stage do not wait.
constexpr const char* kStages = R"(
kernel @stages dims(%M, %N, %K) (%x: tensor<f32,[M,N]> in, %w: tensor<f32,[M,K]> in, %y: tensor<f32,[M,N]> out) {
  axis c = N by 4
  axis d = N by 4
  axis k = K by 4
  %0 = const 0 : i64
  %z = const 0.0 : f32
  %q = pipe {depth = 2, name = "q"} : pipe<f32,[4]>
  stage {name = "make"} {
    spmd (%r: i64 in %0 .. %M) {distribute = static} {
      for %c: block<c> in %0 .. %N {
        %v = load %x[%r, %c] {bounds = clip} : tile<f32; c>
        push %v to %q over c
        yield
      }
      yield
    }
    yield
  }
  stage {name = "use"} {
    spmd (%o: i64 in %0 .. %M) {distribute = static} {
      %sum = for %k: block<k> in %0 .. %K carry(%s = %z) {ahead = 2} {
        %g = load %w[%o, %k] {bounds = clip} : tile<f32; k>
        %p = reduce sum %g over k {acc = f32, order = sequential} : f32
        %n = add %s, %p : f32
        yield %n
      } : f32
      for %d: block<d> in %0 .. %N {
        %t = pop %q over d : tile<f32; d>
        %u = add %t, %sum : tile<f32; d>
        store %u to %y[%o, %d] {bounds = clip}
        yield
      }
      yield
    }
    yield
  }
  return
}
)";

// There are two parts. The first iteration of the second part copies what the first part has written, and
// each iteration of the outer loop reads what the previous iteration has written.
constexpr const char* kParts = R"(
kernel @parts dims(%M, %N, %K) (%a: tensor<i32,[M,K]> in, %h: tensor<i32,[M,N]> inout, %y: tensor<i32,[M]> out) {
  axis k = K by 4
  axis c = N by 4
  %0 = const 0 : i64
  %1 = const 1 : i64
  %2 = const 2 : i64
  %z = const 0 : i32
  loop %t in %0 .. %2 step %1 {
    spmd (%r: i64 in %0 .. %M, %c: block<c> in %0 .. %N) {distribute = static} {
      %sum = for %k: block<k> in %0 .. %K carry(%s = %z) {
        %v = load %a[%r, %k] {bounds = clip} : tile<i32; k>
        %p = reduce sum %v over k {acc = i32, order = sequential} : i32
        %n = add %s, %p : i32
        yield %n
      } : i32
      %old = load %h[%r, %c] {bounds = clip} : tile<i32; c>
      %new = add %old, %sum : tile<i32; c>
      store %new to %h[%r, %c] {bounds = clip}
      yield
    }
    sync
    spmd (%o: i64 in %0 .. %M) {distribute = static} {
      %all = for %e: block<c> in %0 .. %N carry(%acc = %z) {
        %g = load %h[%o, %e] {bounds = clip} : tile<i32; c>
        %b = reduce sum %g over c {acc = i32, order = sequential} : i32
        %m = add %acc, %b : i32
        yield %m
      } : i32
      store %all to %y[%o] {bounds = clip}
      yield
    }
    sync
    yield
  }
  return
}
)";

// After the launch's barrier, the second iteration of the loop reads what the first part has written, so no
// copy may start before the barrier.
constexpr const char* kMeets = R"(
kernel @meets dims(%M, %N, %K) (%h: tensor<i32,[M,N]> inout, %y: tensor<i32,[M,N]> out) {
  axis c = N by 4
  %0 = const 0 : i64
  %one = const 1 : i32
  spmd (%r: i64 in %0 .. %M, %c: block<c> in %0 .. %N) {distribute = static} {
    %v = load %h[%r, %c] {bounds = clip} : tile<i32; c>
    %u = add %v, %one : tile<i32; c>
    store %u to %h[%r, %c] {bounds = clip}
    yield
  }
  for %e: block<c> in %0 .. %N {
    sync
    %g = load %h[%0, %e] {bounds = clip} : tile<i32; c>
    spmd (%o: i64 in %0 .. %M) {distribute = static} {
      store %g to %y[%o, %e] {bounds = clip}
      yield
    }
    yield
  }
  return
}
)";

/// Returns the number of slots of each ring buffer of the kernel.
std::vector<int64_t> SlotsOf(const std::string& text, int64_t workgroup_bytes = kRoom) {
  std::vector<int64_t> slots;
  auto lowered = simt::Lowered(LoweringOf(text), text, MachineOf(4, workgroup_bytes));
  for (const ir::Op* await : simt::OpsOfKind(*lowered, ir::OpKind::AsyncCopyWait)) {
    if (!await->Segment(ir::AsyncCopyWaitOp::at_slot).empty())
      slots.push_back(await->operand(0)->type()->dims[0]->value);
  }
  return slots;
}

}  // namespace

TEST_CASE("block copies change no bit, even if they start iterations ahead") {
  CheckLowering(kMatmul, kShapes);
  CheckLowering(kAddsTo, kShapes);
  CheckLowering(kColumns, kShapes);
  CheckLowering(kStages, kShapes);
  CheckLowering(kParts, kShapes);
  CheckLowering(kMeets, kShapes);
}

TEST_CASE("products with vectors give the same bits as products with scalars") {
  for (const char* text : {kMatmul, kAddsTo}) {
    auto facts = MachineOf(4);
    facts.in_vectors = true;
    simt::CheckLowering(LoweringOf(text), text, facts, kShapes);
  }
  auto facts = MachineOf(4);
  facts.in_vectors = true;
  auto lowered = simt::Lowered(LoweringOf(kMatmul), kMatmul, facts);
  auto in_vectors = [](const ir::Op* op) { return ir::IsVector(op->result()->type()); };
  CHECK(std::ranges::count_if(simt::OpsOfKind(*lowered, ir::OpKind::Fma), in_vectors) >= 1);
}

TEST_CASE("removing the wait for a copy, or a barrier, is detected") {
  for (const char* text : {kMatmul, kAddsTo, kColumns, kStages, kParts}) {
    CHECK(CheckMissed(text, ir::OpKind::AsyncCopyWait) >= 2);
    CHECK(CheckMissed(text, ir::OpKind::Barrier) >= 2);
  }
}

TEST_CASE("copies start as many iterations ahead as the scratchpad has room for") {
  CHECK(SlotsOf(kAddsTo) == std::vector<int64_t>{2, 2});
  CHECK(SlotsOf(kAddsTo, 800).empty());
}

TEST_CASE("copies start ahead in stages and between launch barriers, but never cross a barrier") {
  CHECK(SlotsOf(kStages) == std::vector<int64_t>{2, 3});
  std::string in_place = kStages;  // a stage changes what another stage copies
  in_place.replace(in_place.find("%x: tensor<f32,[M,N]> in,"), 25, "%x: tensor<f32,[M,N]> inout,");
  in_place.replace(in_place.find("to %y[%o, %d]"), 5, "to %x");
  CHECK(SlotsOf(in_place) == std::vector<int64_t>{3});
  CHECK(SlotsOf(kParts) == std::vector<int64_t>{2, 2});
  CHECK(SlotsOf(kMeets).empty());
}

}  // namespace kdl::cluster
