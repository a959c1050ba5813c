#include "targets/cpu/family.h"
#include "support/sanitizers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/llvm/compile.h"
#include "ir/op_kind.h"
#include "kdl/device_keys.h"
#include "targets/cpu/facts.h"
#include "targets/cpu/instructions.h"
#include "targets/cpu/pipelines.h"
#include "targets/kinds.h"

namespace kdl::cpu {

namespace {

constexpr std::string_view kKeys = "isa engines pipes dot";

/// Makes targets for the interpreter. They have the same instruction-set levels as the processor's targets,
/// so the interpreter runs the same kernels.
Result<std::vector<targets::Target>> MakeReference(const targets::Spec& spec) {
  Result<std::vector<targets::Target>> levels = MakeLevels(spec);
  if (!levels) return levels;
  bool sanitizes = std::ranges::any_of(spec.options, [](const auto& option) {
    std::optional<Sanitizers> sanitizers = ParseSanitizers(option.second);
    return option.first == kSanitizeKey && sanitizers && sanitizers->any();
  });
  for (targets::Target& level : *levels) {
    level.interprets = true;
    level.sanitizes = sanitizes;
  }
  return levels;
}

constexpr targets::TargetKind kKinds[] = {
    {"host", kKeys, KDL_HOST_KEYS, MakeLevels,
     "this processor; isa = x86-64-v3, x86-64-v3-vnni, x86-64-v4, x86-64-v4-vnni, x86-64-v4-bf16, "
     "armv8-a, armv8-a-fp16, armv8-a-dotprod, armv8-a-i8mm, armv8-a-bf16 (default: all of these "
     "levels of the architecture, one of which is chosen at run time), native (the best of these "
     "that "
     "this processor has), x86-64-v4-amx, x86-64-v4-fp16, armv8-a-sve256, x86-64-v2 (without FMA "
     "instructions, so slow); engines = "
     "split: contractions in a separate stage; pipes = chip: pipes without memory (code generation "
     "is not possible); dot = portable: no instructions whose bf16 sums differ between processors; "
     "resident = cores: a workspace slice for every core, not for every thread"},
    {"debug", kKeys, KDL_DEBUG_KEYS, MakeLevels,
     "host code on separate, poisoned memory with cores in shuffled order"},
    {"reference", kKeys, KDL_INTERPRETER_KEYS, MakeReference,
     "the interpreter, with the tiles of the host; sanitize = races: each launch stops at the "
     "first race between two blocks; sanitize = init: at the first read of an unwritten element; "
     "sanitize = races+init: at the first of both"}};

Result<codegen::CompiledModule> Generate(std::span<const targets::TargetKernels> kernels,
                                         const codegen::CompileOptions& options) {
  std::vector<codegen::KernelSource> sources;
  for (const targets::TargetKernels& one : kernels) {
    const auto& facts = static_cast<const ProcessorFacts&>(*one.target->facts);
    sources.push_back({one.module, one.kernels, &facts.processor});
  }
  Result<codegen::Backend> backend =
      codegen::Backend::Create(*sources[0].processor, options.opt_level);
  if (!backend) return backend.failure();
  codegen::CompileOptions of_kind = options;
  of_kind.kind = targets::kOwnKind;
  return codegen::CompileKernels(*backend, sources, of_kind);
}

std::vector<targets::Trait> ProcessorTraits(const passes::TargetFacts& target) {
  const auto& facts = static_cast<const ProcessorFacts&>(target);
  std::vector<std::string_view> instructions;
  for (const ir::MatrixInstruction* instruction : facts.instructions)
    instructions.push_back(instruction->name);
  auto number = [](std::string name, int64_t value, std::string variable) {
    return targets::Trait{std::move(name), fmt::to_string(value), std::move(variable), value};
  };
  return {number("bits of a vector", facts.vector_bits, "vector_bits"),
          number("vector registers", facts.vector_registers, "vector_registers"),
          number("bytes of first-level cache", facts.l1_bytes, "l1_bytes"),
          number("bytes of second-level cache", facts.l2_bytes, "l2_bytes"),
          {"instructions",
           instructions.empty() ? "none" : fmt::format("{}", fmt::join(instructions, " "))}};
}

/// Whether the op rounds the result of one operation on f16 numbers to f16, as f16 instructions do.
bool RoundsOneOfHalf(const ir::Op* op) {
  constexpr ir::OpKind kOperations[] = {ir::OpKind::Add, ir::OpKind::Sub, ir::OpKind::Mul,
                                        ir::OpKind::Div, ir::OpKind::Sqrt};
  auto is_cast = [](const ir::Op* def) { return def && def->kind() == ir::OpKind::Cast; };
  if (!is_cast(op) || op->result()->type()->scalar != Scalar::F16) return false;
  const ir::Op* made = op->operand(0)->def();
  if (!made || std::ranges::find(kOperations, made->kind()) == std::end(kOperations)) return false;
  return std::ranges::any_of(made->operands(), [&](const ir::Value* factor) {
    return is_cast(factor->def()) && factor->def()->operand(0)->type()->scalar == Scalar::F16;
  });
}

/// Whether a level has f16 arithmetic, the level that it extends (`extended`) does not, and the kernel can
/// use such arithmetic.
bool Differs(const ir::Function& kernel, const passes::TargetFacts& facts,
             const passes::TargetFacts& extended) {
  auto computes_half = [](const passes::TargetFacts& level) {
    return static_cast<const ProcessorFacts&>(level).processor.computes_half;
  };
  bool differs = false;
  if (!computes_half(facts) || computes_half(extended)) return false;
  ir::Walk(kernel.body, [&](const ir::Op* op) { differs |= RoundsOneOfHalf(op); });
  return differs;
}

}  // namespace

const targets::Family kFamily = {.name = "cpu",
                                 .kinds = kKinds,
                                 .tiles = kTilePipeline,
                                 .pipes = kPipePipeline,
                                 .loops = kLoopPipeline,
                                 .generate = Generate,
                                 .instructions = kMatrixInstructions,
                                 .traits = ProcessorTraits,
                                 .differs = Differs,
                                 .code_needs = passes::kCodeNeeds};

}  // namespace kdl::cpu
