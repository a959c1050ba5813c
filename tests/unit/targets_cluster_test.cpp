#include <doctest/doctest.h>

#include <algorithm>

#include "ir/views.h"
#include "passes_run.h"
#include "targets/cluster/pipelines.h"

// Block copies change no bit: each kernel here is interpreted before and behind the passes of clusters, at the end worker by worker,
// with copies that come when they are awaited. A wait or a barrier that is taken away is missed.

namespace kdl::cluster {

namespace {

constexpr auto kLowering = [] {
  std::array<const Pass*, simt::kPipePipeline.size() + kLoopPipeline.size()> both{};
  std::copy(simt::kPipePipeline.begin(), simt::kPipePipeline.end(), both.begin());
  std::copy(kLoopPipeline.begin(), kLoopPipeline.end(), both.begin() + simt::kPipePipeline.size());
  return both;
}();

simt::SimtFacts MachineOf(int64_t workers, int64_t team_bytes) {
  simt::SimtFacts facts;
  facts.workers = facts.most_workers = workers;
  facts.held_bytes = 64;
  facts.near_bytes = facts.team_bytes = team_bytes;
  return facts;
}

constexpr int64_t kRoom = 1 << 20;

std::vector<ir::Op*> OpsOf(const TestKernel& test, ir::OpKind kind) {
  std::vector<ir::Op*> ops;
  ir::Walk(test.kernel().body, [&](ir::Op* op) {
    if (op->kind() == kind) ops.push_back(op);
  });
  return ops;
}

std::unique_ptr<TestKernel> Lowered(const std::string& text, const simt::SimtFacts& facts) {
  auto test = std::make_unique<TestKernel>(text);
  test->facts = &facts;
  for (const Pass* pass : kLowering) test->Apply(*pass);
  return test;
}

void CheckLowering(const std::string& text, const std::vector<Dims>& shapes) {
  for (int64_t workers : {1, 4, 16}) {
    simt::SimtFacts facts = MachineOf(workers, kRoom);
    TestKernel source(text);
    std::unique_ptr<TestKernel> lowered = Lowered(text, facts);
    std::vector<std::string> faults = ir::VerifyLoopLevel(lowered->kernel());
    REQUIRE_MESSAGE(faults.empty(), faults[0], "\n", lowered->Text());
    for (const Dims& dims : shapes) {
      for (int64_t cores : {1, 3}) {
        Outcome expected = RunOn(source, dims, cores, 5);
        Outcome outcome = RunOn(*lowered, dims, cores, 5);
        REQUIRE_MESSAGE(outcome.trap == expected.trap, lowered->Text());
        REQUIRE_MESSAGE(outcome.tensors == expected.tensors, lowered->Text());
      }
    }
  }
}

/// Takes each op of a kind away in turn: how many there are, and how many of them are missed.
struct Missed {
  size_t all = 0;
  size_t missed = 0;
};
Missed CountMissed(const std::string& text, ir::OpKind kind, std::string_view told,
                   const std::vector<Dims>& shapes) {
  simt::SimtFacts facts = MachineOf(4, kRoom);
  Missed count{OpsOf(*Lowered(text, facts), kind).size(), 0};
  for (size_t i = 0; i < count.all; ++i) {
    std::unique_ptr<TestKernel> test = Lowered(text, facts);
    ir::Erase(OpsOf(*test, kind)[i]);
    auto is_told = [&](const Dims& dims) {
      return RunOn(*test, dims, 1, 2).trap.find(told) != std::string::npos;
    };
    if (std::any_of(shapes.begin(), shapes.end(), is_told)) ++count.missed;
  }
  return count;
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

const std::vector<Dims> kShapes = {{{"M", 4}, {"N", 8}, {"K", 4}},
                                   {{"M", 9}, {"N", 11}, {"K", 13}},
                                   {{"M", 1}, {"N", 3}, {"K", 1}}};

}  // namespace

TEST_CASE("block copies, also turns ahead, change no bit") {
  CheckLowering(kMatmul, kShapes);
  CheckLowering(kAddsTo, kShapes);
  CheckLowering(kColumns, kShapes);
}

TEST_CASE("a copy that is not awaited, and a barrier that is taken away, are missed") {
  for (const char* text : {kMatmul, kAddsTo, kColumns}) {
    Missed waits = CountMissed(text, ir::OpKind::AwaitCopies, "a block copy has not", kShapes);
    CHECK(waits.all >= 2);
    CHECK(waits.missed == waits.all);
    // A wait may stand in for a barrier beside it.
    CHECK(CountMissed(text, ir::OpKind::Barrier, "with no barrier between", kShapes).missed >= 1);
  }
}

TEST_CASE("copies run ahead as far as the scratchpad has room") {
  auto slots = [](int64_t team_bytes) {
    simt::SimtFacts facts = MachineOf(4, team_bytes);
    int64_t most = 0;
    std::unique_ptr<TestKernel> lowered = Lowered(kAddsTo, facts);
    for (const ir::Op* await : OpsOf(*lowered, ir::OpKind::AwaitCopies)) {
      if (!await->Segment(ir::AwaitCopiesOp::at_part).empty())
        most = std::max(most, await->operand(0)->type()->dims[0]->value);
    }
    return most;
  };
  CHECK(slots(kRoom) == 2);
  CHECK(slots(800) == 0);
}

}  // namespace kdl::cluster
