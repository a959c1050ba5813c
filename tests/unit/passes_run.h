#pragma once

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "interp/run.h"
#include "ir/equal.h"
#include "ir/eval.h"
#include "ir/printer.h"
#include "ir/ring.h"
#include "ir/verifier.h"
#include "ir_text.h"
#include "passes/pass_manager.h"

namespace kdl::passes {

using Dims = std::map<std::string, int64_t>;

/// What a run of a kernel left behind: its tensors' bits, or its trap.
struct Outcome {
  std::vector<std::vector<uint64_t>> tensors;
  std::string trap;
};

/// A kernel as text, run through passes; every step is verified and keeps the text's laws.
struct TestKernel {
  ir::ReadText read;
  ir::TargetFacts facts;  ///< of the target that the passes lower for
  PipeMode pipes = PipeMode::Auto;

  explicit TestKernel(std::string text) : read(std::move(text)) {
    REQUIRE_MESSAGE(read.module, read.Errors());
  }
  /// The last function.
  ir::Function& kernel() const { return *read.module->functions().back(); }
  std::string Text() const { return ir::Print(*read.module); }

  void Apply(PassKind kind) {
    PassContext context{*read.module, read.diagnostics, read.sources, &facts, nullptr, pipes};
    PassOptions options;
    options.verify = false;
    RunPipeline({&kind, 1}, context, options);
    REQUIRE_MESSAGE(read.diagnostics.all().empty(), read.Errors());
    std::vector<std::string> faults = ir::Verify(*read.module);
    REQUIRE_MESSAGE(faults.empty(), Info(kind).name, ": ", faults[0], "\n", Text());
    std::unique_ptr<ir::Module> again = read.Again(Text());
    REQUIRE_MESSAGE(again, read.Errors());
    REQUIRE(ir::Difference(*read.module, *again) == "");
    REQUIRE(ir::Print(*again) == Text());
  }
};

/// Draws small numbers: floats with a few infinities and NaNs where `wild`, integers from -3 on.
inline uint64_t Draw(Scalar scalar, std::mt19937_64& random, bool wild) {
  if (scalar == Scalar::Bool) return random() % 2;
  uint64_t pick = random();
  if (IsInteger(scalar)) return ir::EvaluateCast(Scalar::I64, scalar, pick % 10 - 3);
  double value = std::ldexp(static_cast<double>(pick % 4001) - 2000, -8);
  if (wild && pick >> 60 == 0) value = (pick & 1) != 0 ? INFINITY : -INFINITY;
  if (wild && pick >> 60 == 1) value = NAN;
  if (wild && pick >> 60 == 2) value = -0.0;
  return ir::EvaluateCast(Scalar::F64, scalar, std::bit_cast<uint64_t>(value));
}

inline bool IsNan(Scalar scalar, uint64_t bits) {
  if (!IsFloat(scalar)) return false;
  return std::isnan(std::bit_cast<double>(ir::EvaluateCast(scalar, Scalar::F64, bits)));
}

/// Runs the kernel on drawn arguments: the same for the same seed.
inline Outcome RunOn(const TestKernel& test, const Dims& dims, int64_t core_num, uint64_t seed) {
  const ir::Function& kernel = test.kernel();
  std::mt19937_64 random(seed);
  std::vector<std::vector<std::byte>> memory;
  interp::KernelArguments arguments;
  for (const auto& [name, value] : dims) arguments.constants[name] = value;
  for (const ir::Param& param : kernel.params) {
    ir::Type type = param.value->type();
    if (type->kind == ir::TypeKind::Workspace) continue;
    if (type->kind != ir::TypeKind::Tensor) {
      arguments.scalars.push_back(Draw(type->scalar, random, false));
      continue;
    }
    interp::TensorArgument tensor;
    tensor.scalar = type->scalar;
    size_t count = 1;
    for (Size dim : type->dims) {
      auto value = [&](Name symbol) { return std::optional<int64_t>(dims.at(symbol.str())); };
      tensor.sizes.push_back(*Evaluate(dim, value));
      count *= static_cast<size_t>(tensor.sizes.back());
    }
    tensor.strides = interp::RowMajorStrides(tensor.sizes);
    auto bytes = static_cast<size_t>(Bytes(type->scalar));
    memory.emplace_back(count * bytes);
    for (size_t i = 0; i < count; ++i) {
      uint64_t bits = Draw(type->scalar, random, seed % 2 == 1);
      std::memcpy(memory.back().data() + i * bytes, &bits, bytes);
    }
    tensor.data = memory.back().data();
    arguments.tensors.push_back(std::move(tensor));
  }
  auto result = interp::RunKernel(*test.read.module, kernel, arguments, core_num, {0});
  REQUIRE_MESSAGE(result.ok(), result.failure().message);
  Outcome outcome;
  if (result->has_value()) outcome.trap = interp::ToString(**result);
  for (size_t t = 0; t < arguments.tensors.size() && outcome.trap.empty(); ++t) {
    auto bytes = static_cast<size_t>(Bytes(arguments.tensors[t].scalar));
    outcome.tensors.emplace_back(memory[t].size() / bytes);
    for (size_t i = 0; i < outcome.tensors[t].size(); ++i) {
      uint64_t& bits = outcome.tensors[t][i];
      std::memcpy(&bits, memory[t].data() + i * bytes, bytes);
      if (IsNan(arguments.tensors[t].scalar, bits)) bits = ~uint64_t{0};
    }
  }
  return outcome;
}

struct LoweringRuns {
  int ended = 0;
  int trapped = 0;
};

/// Applies the passes of the lowering for one target one by one; after each, the kernel must do what
/// it did before, to the bit and to the trap, for all these sizes, numbers of cores and drawn
/// inputs.
inline LoweringRuns CheckLoweringFor(const ir::TargetFacts& facts, const std::string& text,
                                     const std::vector<Dims>& shapes,
                                     std::span<const PassKind> pipeline,
                                     PipeMode pipes = PipeMode::Auto) {
  struct Run {
    Dims dims;
    int64_t core_num;
    uint64_t seed;
    Outcome expected;
  };
  std::vector<Run> runs;
  TestKernel test(text);
  test.facts = facts;
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
  for (PassKind kind : pipeline) {
    test.Apply(kind);
    for (const Run& run : runs) {
      Outcome outcome = RunOn(test, run.dims, run.core_num, run.seed);
      std::string what;
      for (const auto& [name, value] : run.dims) what += name + "=" + std::to_string(value) + " ";
      what += "cores=" + std::to_string(run.core_num);
      REQUIRE_MESSAGE(outcome.trap == run.expected.trap, Info(kind).name, " ", what, "\n",
                      test.Text());
      REQUIRE_MESSAGE(outcome.tensors == run.expected.tensors, Info(kind).name, " ", what, "\n",
                      test.Text());
    }
  }
  bool lowered = !pipeline.empty() && pipeline.size() == kLoweringPipeline.size();
  if (!lowered) return counts;
  std::vector<std::string> faults = ir::VerifyLoopLevel(test.kernel());
  REQUIRE_MESSAGE(faults.empty(), faults[0], "\n", test.Text());
  return counts;
}

/// The same for targets with the narrowest and with the widest vectors, of which the latter has caches that hold next to
/// nothing.
inline LoweringRuns CheckLowering(const std::string& text, const std::vector<Dims>& shapes,
                                  std::span<const PassKind> pipeline = kLoweringPipeline,
                                  PipeMode pipes = PipeMode::Auto) {
  LoweringRuns counts;
  for (int vector_bits : {128, 512}) {
    ir::TargetFacts facts;
    facts.vector_bits = vector_bits;
    facts.vector_registers = vector_bits == 512 ? 32 : 16;
    facts.last_level_bytes = vector_bits == 512 ? 256 : 0;
    LoweringRuns runs = CheckLoweringFor(facts, text, shapes, pipeline, pipes);
    counts.ended += runs.ended;
    counts.trapped += runs.trapped;
  }
  return counts;
}

}  // namespace kdl::passes
