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
#include "ir/eval/eval.h"
#include "ir/print/equal.h"
#include "ir/print/printer.h"
#include "ir/ring.h"
#include "ir/verify/verifier.h"
#include "ir_text.h"
#include "passes/passes.h"

namespace kdl::passes {

using Dims = std::map<std::string, int64_t>;

/// The result of running a kernel: the bits of its tensors, or its trap.
struct Outcome {
  std::vector<std::vector<uint64_t>> tensors;
  std::string trap;
};

/// A kernel as text, to which passes are applied. The result of every step is verified.
struct TestKernel {
  ir::ReadText read;
  const passes::TargetFacts* facts = nullptr;  ///< facts about the target that the passes lower for
  PipeMode pipes = PipeMode::Auto;

  explicit TestKernel(std::string text,
                      std::span<const ir::MatrixInstruction* const> instructions = {})
      : read(std::move(text), instructions) {
    REQUIRE_MESSAGE(read.module, read.Errors());
  }
  /// Returns the last function.
  ir::Function& kernel() const { return *read.module->functions().back(); }
  std::string Text() const { return ir::Print(*read.module); }
  /// Returns the text after the last pass.
  const std::string& printed() const { return printed_; }

  void Apply(const Pass& pass) {
    PassContext context{*read.module, read.diagnostics, read.sources, facts, nullptr, pipes};
    PassOptions options;
    options.verify = false;
    const Pass* passes[] = {&pass};
    RunPipeline(passes, context, options);
    REQUIRE_MESSAGE(read.diagnostics.all().empty(), read.Errors());
    std::vector<std::string> faults = ir::Verify(*read.module);
    REQUIRE_MESSAGE(faults.empty(), pass.name, ": ", faults[0], "\n", Text());
    std::string text = Text();
    if (text != printed_) {
      again_ = read.Again(text);
      REQUIRE_MESSAGE(again_, read.Errors());
      REQUIRE(ir::Print(*again_) == text);
      printed_ = std::move(text);
    }
    REQUIRE(ir::Difference(*read.module, *again_) == "");
  }

 private:
  std::string printed_;
  std::unique_ptr<ir::Module> again_;  ///< read from `printed_`
};

/// Returns a random small number. Integers start at -3. If `wild`, a few floats are infinities or
/// NaNs.
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

/// Runs the kernel on random arguments, which depend only on the seed.
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

}  // namespace kdl::passes
