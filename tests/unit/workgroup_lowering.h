#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "passes_run.h"
#include "targets/simt/facts.h"
#include "targets/simt/passes.h"

// Shared by the tests of target families with workgroups of threads. Checks that no pass changes a bit, and
// that removing any op that orders threads is noticed.

namespace kdl::simt {

/// How a family lowers kernels: its passes from the tile level on, and its matrix instructions.
struct WorkgroupLowering {
  std::span<const Pass* const> passes;
  std::span<const ir::MatrixInstruction* const> instructions;
};

template <size_t Pipes, size_t Loops>
constexpr std::array<const Pass*, Pipes + Loops> Both(const std::array<const Pass*, Pipes>& pipes,
                                                      const std::array<const Pass*, Loops>& loops) {
  std::array<const Pass*, Pipes + Loops> both{};
  std::copy(loops.begin(), loops.end(), std::copy(pipes.begin(), pipes.end(), both.begin()));
  return both;
}

inline std::unique_ptr<TestKernel> Lowered(const WorkgroupLowering& lowering,
                                           const std::string& text, const SimtFacts& facts) {
  auto test = std::make_unique<TestKernel>(text, lowering.instructions);
  test->facts = &facts;
  for (const Pass* pass : lowering.passes) test->Apply(*pass);
  return test;
}

/// A run of the kernel before any pass.
struct ExpectedRun {
  Dims dims;
  int64_t core_num;
  uint64_t seed;
  Outcome expected;
};

inline std::vector<ExpectedRun> RunsOf(const TestKernel& test, const std::vector<Dims>& shapes) {
  std::vector<ExpectedRun> runs;
  for (const Dims& dims : shapes) {
    for (int64_t cores : {1, 3}) {
      runs.push_back({dims, cores, runs.size() + 1, {}});
      runs.back().expected = RunOn(test, dims, cores, runs.back().seed);
    }
  }
  return runs;
}

/// Interprets the kernel before the first pass, and after every pass that changes it. All runs must give
/// the same bits or the same trap. Once tiles are distributed to threads, the interpreter runs each
/// thread; it skips the passes before insert-barriers, because without barriers the threads would race.
inline void CheckLowering(const WorkgroupLowering& lowering, const std::string& text,
                          const SimtFacts& facts, const std::vector<Dims>& shapes) {
  TestKernel test(text, lowering.instructions);
  test.facts = &facts;
  std::vector<ExpectedRun> runs = RunsOf(test, shapes);
  bool lacks_barriers = false;
  std::string has_run = test.Text();
  for (const Pass* pass : lowering.passes) {
    test.Apply(*pass);
    lacks_barriers = (lacks_barriers || pass == &kLowerTilesToThreads) && pass != &kInsertBarriers;
    if (lacks_barriers || test.printed() == has_run) continue;
    has_run = test.printed();
    for (const ExpectedRun& run : runs) {
      Outcome outcome = RunOn(test, run.dims, run.core_num, run.seed);
      REQUIRE_MESSAGE(outcome.trap == run.expected.trap, pass->name, "\n", test.Text());
      REQUIRE_MESSAGE(outcome.tensors == run.expected.tensors, pass->name, "\n", test.Text());
    }
  }
  std::vector<std::string> faults = ir::VerifyLoopLevel(test.kernel());
  REQUIRE_MESSAGE(faults.empty(), faults[0], "\n", test.Text());
}

inline std::vector<ir::Op*> OpsOfKind(const TestKernel& test, ir::OpKind kind) {
  std::vector<ir::Op*> ops;
  ir::Walk(test.kernel().body, [&](ir::Op* op) {
    if (op->kind() == kind) ops.push_back(op);
  });
  return ops;
}

/// Removes each op of a kind from a lowered kernel in turn. Returns for each op whether some run then fails.
inline std::vector<bool> Missed(const WorkgroupLowering& lowering, const std::string& lowered,
                                ir::OpKind kind, const std::vector<Dims>& shapes) {
  std::vector<bool> missed;
  for (size_t count = OpsOfKind(TestKernel(lowered, lowering.instructions), kind).size();
       missed.size() < count;) {
    TestKernel test(lowered, lowering.instructions);
    ir::Erase(OpsOfKind(test, kind)[missed.size()]);
    missed.push_back(std::ranges::any_of(
        shapes, [&](const Dims& dims) { return !RunOn(test, dims, 1, 2).trap.empty(); }));
  }
  return missed;
}

/// Returns the number of ops of a kind without which some run fails. The other ops of the kind may be
/// redundant.
inline ptrdiff_t CountMissed(const WorkgroupLowering& lowering, const std::string& text,
                             const SimtFacts& facts, ir::OpKind kind,
                             const std::vector<Dims>& shapes) {
  return std::ranges::count(Missed(lowering, Lowered(lowering, text, facts)->Text(), kind, shapes),
                            true);
}

/// Checks that removing any single op of a kind makes some run fail. Returns the number of these ops.
inline size_t CheckMissed(const WorkgroupLowering& lowering, const std::string& text,
                          const SimtFacts& facts, ir::OpKind kind,
                          const std::vector<Dims>& shapes) {
  const std::string lowered = Lowered(lowering, text, facts)->Text();
  std::vector<bool> missed = Missed(lowering, lowered, kind, shapes);
  for (size_t i = 0; i < missed.size(); ++i)
    CHECK_MESSAGE(missed[i], "the one of number ", i, " of\n", lowered);
  return missed.size();
}

}  // namespace kdl::simt
