#include <doctest/doctest.h>

#include <algorithm>

#include "ir/views.h"
#include "targets/cluster/pipelines.h"
#include "team_lowering.h"

// Block copies change no bit: each kernel here is interpreted before and behind the passes of clusters, at the end worker by worker,
// with copies that come when they are awaited. A wait or a barrier that is taken away is missed.

namespace kdl::cluster {

namespace {

constexpr auto kPasses = simt::Both(simt::kPipePipeline, kLoopPipeline);
constexpr simt::TeamLowering kLowering{kPasses, {}};

constexpr int64_t kRoom = 1 << 20;

simt::SimtFacts MachineOf(int64_t workers, int64_t team_bytes = kRoom) {
  simt::SimtFacts facts;
  facts.workers = facts.most_workers = workers;
  facts.held_bytes = 64;
  facts.near_bytes = facts.team_bytes = team_bytes;
  return facts;
}

void CheckLowering(const std::string& text, const std::vector<Dims>& shapes) {
  for (int64_t workers : {1, 4, 16})
    simt::CheckLowering(kLowering, text, MachineOf(workers), shapes);
}

const std::vector<Dims> kShapes = {{{"M", 4}, {"N", 8}, {"K", 4}},
                                   {{"M", 9}, {"N", 11}, {"K", 13}},
                                   {{"M", 9}, {"N", 17}, {"K", 0}},
                                   {{"M", 1}, {"N", 3}, {"K", 1}}};

size_t CheckMissed(const std::string& text, ir::OpKind kind) {
  return simt::CheckMissed(kLowering, text, MachineOf(4), kind, kShapes);
}

constexpr const char* kMatmul = R"(
kernel @matmul dims(%M, %N, %K) (%a: tensor<f32,[M,K]> in, %b: tensor<f32,[K,N]> in, %c: tensor<f32,[M,N]> out) {
  axis i = M by 4
  axis j = N by 8
  axis k = K by 4
  %0 = const 0 : i64
  %z = const 0.0 : f32
  spmd (%i: blk<i> in %0 .. %M, %j: blk<j> in %0 .. %N) {deal = static} {
    %init = broadcast %z : tile<f32; i j>
    %acc = for %k: blk<k> in %0 .. %K carry(%t = %init) {ahead = 2} {
      %x = load %a[%i, %k] {edge = clip} : tile<f32; i k>
      %y = load %b[%k, %j] {edge = clip} : tile<f32; j k>
      %u = contraction %x, %y into %t over k {acc = f32, order = chain} : tile<f32; i j>
      yield %u
    } : tile<f32; i j>
    store %acc to %c[%i, %j] {edge = clip}
    yield
  }
  return
}
)";

// The products start from what is there, which comes in another order than it lies.
constexpr const char* kAddsTo = R"(
kernel @adds dims(%M, %N, %K) (%a: tensor<i32,[M,K]> in, %b: tensor<i32,[N,K]> in, %c: tensor<i32,[N,M]> inout) {
  axis i = M by 8
  axis j = N by 8
  axis k = K by 4
  %0 = const 0 : i64
  spmd (%i: blk<i> in %0 .. %M, %j: blk<j> in %0 .. %N) {deal = static} {
    %init = load %c[%j, %i] {edge = clip} : tile<i32; i j>
    %acc = for %k: blk<k> in %0 .. %K carry(%t = %init) {
      %x = load %a[%i, %k] {edge = clip} : tile<i32; i k>
      %y = load %b[%j, %k] {edge = clip} : tile<i32; j k>
      %u = contraction %x, %y into %t over k {acc = i32, order = chain} : tile<i32; i j>
      yield %u
    } : tile<i32; i j>
    store %acc to %c[%j, %i] {edge = clip}
    yield
  }
  return
}
)";

// Copies go around what is computed; a column of a tensor, whose elements lie apart, and a slice of one of three dimensions.
constexpr const char* kColumns = R"(
kernel @columns dims(%M, %N, %K) (%a: tensor<f32,[M,N]> in, %b: tensor<f32,[K,M,N]> in, %c: tensor<f32,[K,M,N]> out) {
  axis i = M by 4
  axis j = N by 8
  axis k = K by 2
  %0 = const 0 : i64
  %1 = const 2.0 : f32
  spmd (%i: blk<i> in %0 .. %M, %j: blk<j> in %0 .. %N) {deal = static} {
    for %k: blk<k> in %0 .. %K {
      %x = load %a[%i, %0] {edge = proven} : tile<f32; i>
      %y = mul %x, %1 : tile<f32; i>
      %z = load %b[%k, %i, %j] {edge = clip} : tile<f32; i j k>
      %u = add %y, %z : tile<f32; i j k>
      store %u to %c[%k, %i, %j] {edge = clip}
      yield
    }
    yield
  }
  return
}
)";

}  // namespace

TEST_CASE("block copies, also turns ahead, change no bit") {
  CheckLowering(kMatmul, kShapes);
  CheckLowering(kAddsTo, kShapes);
  CheckLowering(kColumns, kShapes);
}

TEST_CASE("a copy that is not awaited, and a barrier that is taken away, are missed") {
  for (const char* text : {kMatmul, kAddsTo, kColumns}) {
    CHECK(CheckMissed(text, ir::OpKind::AwaitCopies) >= 2);
    CHECK(CheckMissed(text, ir::OpKind::Barrier) >= 2);
  }
}

TEST_CASE("copies run ahead as far as the scratchpad has room") {
  auto slots = [](int64_t team_bytes) {
    int64_t most = 0;
    auto lowered = simt::Lowered(kLowering, kAddsTo, MachineOf(4, team_bytes));
    for (const ir::Op* await : simt::OpsOf(*lowered, ir::OpKind::AwaitCopies)) {
      if (!await->Segment(ir::AwaitCopiesOp::at_part).empty())
        most = std::max(most, await->operand(0)->type()->dims[0]->value);
    }
    return most;
  };
  CHECK(slots(kRoom) == 2);
  CHECK(slots(800) == 0);
}

}  // namespace kdl::cluster
