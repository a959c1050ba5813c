#pragma once

#include <array>

#include "passes_run.h"
#include "targets/cpu/pipelines.h"

namespace kdl::cpu {

/// The passes from tiles with chosen sizes down to loops.
inline constexpr auto kLoweringPipeline = [] {
  std::array<const Pass*, kPipePipeline.size() + kLoopPipeline.size()> both{};
  std::copy(kPipePipeline.begin(), kPipePipeline.end(), both.begin());
  std::copy(kLoopPipeline.begin(), kLoopPipeline.end(), both.begin() + kPipePipeline.size());
  return both;
}();

struct LoweringRuns {
  int ended = 0;
  int trapped = 0;
};

/// Applies the lowering passes for one target, one by one. After each pass, the kernel must give the same
/// bits, or the same trap, as before the pass. This is checked for all the given sizes, for several numbers
/// of cores, and with random inputs. If a pass does not change the text, the kernel does not run again.
inline LoweringRuns CheckLoweringFor(const ProcessorFacts& facts, const std::string& text,
                                     const std::vector<Dims>& shapes, Pipeline pipeline,
                                     PipeMode pipes = PipeMode::Auto) {
  struct Run {
    Dims dims;
    int64_t core_num;
    uint64_t seed;
    Outcome expected;
  };
  std::vector<Run> runs;
  TestKernel test(text);
  test.facts = &facts;
  test.pipes = pipes;
  for (const Dims& dims : shapes) {
    uint64_t seed = runs.size();
    for (int64_t cores : {1, 3, 1000}) runs.push_back({dims, cores, ++seed, {}});
  }
  LoweringRuns counts;
  for (Run& run : runs) {
    run.expected = RunOn(test, run.dims, run.core_num, run.seed);
    ++(run.expected.trap.empty() ? counts.ended : counts.trapped);
  }
  std::string has_run = test.Text();
  for (const Pass* pass : pipeline) {
    test.Apply(*pass);
    if (test.printed() == has_run) continue;
    has_run = test.printed();
    for (const Run& run : runs) {
      Outcome outcome = RunOn(test, run.dims, run.core_num, run.seed);
      std::string what;
      for (const auto& [name, value] : run.dims) what += name + "=" + std::to_string(value) + " ";
      what += "cores=" + std::to_string(run.core_num);
      REQUIRE_MESSAGE(outcome.trap == run.expected.trap, pass->name, " ", what, "\n", test.Text());
      REQUIRE_MESSAGE(outcome.tensors == run.expected.tensors, pass->name, " ", what, "\n",
                      test.Text());
    }
  }
  bool lowered = !pipeline.empty() && pipeline.size() == kLoweringPipeline.size();
  if (!lowered) return counts;
  std::vector<std::string> faults = ir::VerifyLoopLevel(test.kernel());
  REQUIRE_MESSAGE(faults.empty(), faults[0], "\n", test.Text());
  return counts;
}

/// Checks the lowering for targets with the narrowest and the widest vectors, and for a target with tiny
/// caches, which loads several rows at a time from memory.
inline LoweringRuns CheckLowering(const std::string& text, const std::vector<Dims>& shapes,
                                  Pipeline pipeline = kLoweringPipeline,
                                  PipeMode pipes = PipeMode::Auto) {
  LoweringRuns counts;
  for (int vector_bits : {128, 512}) {
    ProcessorFacts facts;
    facts.vector_bits = vector_bits;
    facts.vector_registers = vector_bits == 512 ? 32 : 16;
    facts.last_level_bytes = 256;
    facts.asks_for_reads = vector_bits != 512;
    LoweringRuns runs = CheckLoweringFor(facts, text, shapes, pipeline, pipes);
    counts.ended += runs.ended;
    counts.trapped += runs.trapped;
  }
  return counts;
}

}  // namespace kdl::cpu
