#include "targets/simt/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "codegen/opencl/compile.h"
#include "codegen/ptx/compile.h"
#include "kdl/device_keys.h"
#include "support/check.h"
#include "targets/instructions.h"
#include "targets/simt/analysis/mma_shapes.h"
#include "targets/simt/assemble_ptx.h"
#include "targets/simt/pipelines.h"
#include "targets/simt/tile_selector.h"
#include "targets/simt/traits.h"

namespace kdl::simt {

namespace {

using targets::Spec;
using targets::Target;

using codegen::CompiledModule;
using codegen::CompileOptions;
using targets::TargetKernels;

/// A machine and its code generator.
struct DeviceFacts : SimtFacts {
  std::string kind;  ///< the kind of the machine's images
  Result<CompiledModule> (*generate)(const TargetKernels& kernels, const DeviceFacts& facts,
                                     const CompileOptions& options) = nullptr;
  /// LLVM's description of the processor, if LLVM generates the code.
  codegen::Processor processor;
  bool is_assembled = false;  ///< whether the image also contains machine code
};

Target MakeTarget(std::shared_ptr<DeviceFacts> facts, std::string spec) {
  facts->instructions = {&targets::kBf16Pairs};
  return {&kFamily, facts, MakeTileSelector(*facts), std::move(spec), ""};
}

// -- OpenCL -----------------------------------------------------------------------------------------

Result<CompiledModule> GenerateOpencl(const TargetKernels& kernels, const DeviceFacts& facts,
                                      const CompileOptions& options) {
  return codegen::opencl::Compile(kernels.kernels, facts.workgroup_bytes, options);
}

Result<std::vector<Target>> MakeOpencl(const Spec&) {
  auto facts = std::make_shared<DeviceFacts>();
  facts->kind = facts->level = "opencl";
  facts->generate = GenerateOpencl;
  facts->vector_bytes = 16;
  facts->vectors_anywhere = true;
  return std::vector<Target>{MakeTarget(std::move(facts), "opencl")};
}

// -- CUDA -------------------------------------------------------------------------------------------

/// The values of the key `dot`, which controls whether products may use matrix instructions.
constexpr std::string_view kDots[] = {"native", "portable"};
/// The values of the key `code`, which says whether the image contains machine code in addition to PTX.
constexpr std::string_view kCodes[] = {"ptx", "cubin"};

/// A level of NVIDIA's GPUs. Code for `sm_80` and `sm_90` also runs on later GPUs, but code for `sm_90a` runs
/// only on that level. `workgroup_bytes` is therefore the smallest amount of workgroup memory on any GPU that
/// can run the code. On levels 8.6, 8.9 and 12.0, a workgroup may use 99 KiB of a multiprocessor's 100 KiB.
/// On 9.0, it may use 227 of 228 KiB, since the driver reserves 1 KiB. `multiprocessor_bytes`, which affects
/// register use and block sizes, is that of the level's own GPU: 164 KiB on 8.0.
struct CudaLevel {
  std::string_view name;
  int64_t workgroup_bytes;
  int64_t multiprocessor_bytes;
  int64_t ring_bytes;
  size_t first_instruction;  ///< index of the first row in `kMmaShapes`
};
constexpr CudaLevel kCudaLevels[] = {{"sm_80", 99 << 10, 164 << 10, 49 << 10, kGroupInstructions},
                                     {"sm_90", 99 << 10, 228 << 10, 49 << 10, kGroupInstructions},
                                     {"sm_90a", 227 << 10, 228 << 10, 113 << 10, 0}};

Result<CompiledModule> GenerateCuda(const TargetKernels& kernels, const DeviceFacts& facts,
                                    const CompileOptions& options) {
  Result<CompiledModule> compiled =
      codegen::ptx::Compile({kernels.module, kernels.kernels, &facts.processor},
                            {facts.workgroup_bytes, facts.multiprocessor_bytes}, options);
  if (!compiled || !facts.is_assembled || !options.object) return compiled;
  Result<std::string> cubin = AssemblePtx(compiled->payload, facts.arch);
  if (!cubin) return cubin.failure();
  compiled->text_bytes = compiled->payload.size();
  compiled->payload += '\0' + *cubin;
  return compiled;
}

Result<std::vector<Target>> MakeCuda(const Spec& spec) {
  std::string_view level = kCudaLevels[0].name;
  std::string_view dot = kDots[0];
  std::string_view code = kCodes[0];
  for (const auto& [key, value] : spec.options) {
    if (key == "isa") level = value;
    if (key == "dot") dot = value;
    if (key == "code") code = value;
  }
  auto unknown = [&](std::string_view key, std::string_view value,
                     std::span<const std::string_view> known) {
    return Failure{fmt::format("target '{}': unknown {} '{}'; the known ones are: {}", spec.text,
                               key, value, fmt::join(known, " ")),
                   FailureKind::Usage};
  };
  const auto* row = std::ranges::find(kCudaLevels, level, &CudaLevel::name);
  if (row == std::end(kCudaLevels)) {
    std::vector<std::string_view> names;
    for (const CudaLevel& known : kCudaLevels) names.push_back(known.name);
    return unknown("isa", level, names);
  }
  if (std::ranges::find(kDots, dot) == std::end(kDots)) return unknown("dot", dot, kDots);
  if (std::ranges::find(kCodes, code) == std::end(kCodes)) return unknown("code", code, kCodes);
  auto facts = std::make_shared<DeviceFacts>();
  facts->kind = "cuda";
  facts->arch = facts->level = level;
  facts->workgroup_bytes = row->workgroup_bytes;
  facts->multiprocessor_bytes = row->multiprocessor_bytes;
  facts->reserved_bytes = 1 << 10;
  facts->ring_bytes = row->ring_bytes;
  facts->generate = GenerateCuda;
  facts->copy_bytes = 16;
  facts->vector_bytes = 16;
  facts->groups_blocks = true;
  facts->processor = codegen::ptx::ProcessorForLevel(level);
  bool is_native = dot == kDots[0];
  facts->is_assembled = code != kCodes[0];
  if (is_native) facts->mma_shapes = std::span(kMmaShapes).subspan(row->first_instruction);
  for (const MmaShape& instruction : facts->mma_shapes)
    facts->processor.steps.push_back(
        {instruction.instruction->name, instruction.instruction->depth, instruction.intrinsic, {}});
  return std::vector<Target>{
      MakeTarget(facts, fmt::format("cuda?isa={}{}{}", level, is_native ? "" : "&dot=portable",
                                    facts->is_assembled ? "&code=cubin" : ""))};
}

constexpr targets::TargetKind kKinds[] = {
    {"opencl", "", KDL_OPENCL_KEYS, MakeOpencl,
     "an OpenCL device of any vendor; its driver compiles the kernels at their first launch", "ocl",
     false, "cl"},
    {"cuda", "isa dot code", KDL_CUDA_KEYS, MakeCuda,
     "an NVIDIA GPU; its driver compiles the PTX of the kernels at their first launch; isa = sm_80 "
     "(default; for this and later GPUs), sm_90, sm_90a; dot = native (default; matrix "
     "instructions, whose results may differ in the last bits), portable; code = ptx (default), "
     "cubin (adds machine code, made by ptxas from PATH, which needs no compilation)",
     "ptx"}};

Result<CompiledModule> Generate(std::span<const TargetKernels> targets,
                                const CompileOptions& options) {
  KDL_CHECK(targets.size() == 1, "{} machines have the same name", targets.size());
  const auto& facts = static_cast<const DeviceFacts&>(*targets[0].target->facts);
  CompileOptions of_kind = options;
  of_kind.kind = facts.kind;
  return facts.generate(targets[0], facts, of_kind);
}

std::vector<targets::Trait> DeviceTraits(const passes::TargetFacts& target) {
  const auto& facts = static_cast<const DeviceFacts&>(target);
  std::vector<targets::Trait> traits = SimtTraits(facts);
  if (facts.multiprocessor_bytes > 0)
    traits.push_back(
        {"bytes for workgroups on a multiprocessor", fmt::to_string(facts.multiprocessor_bytes)});
  return traits;
}

}  // namespace

const SimtFacts& SimtFactsOf(const passes::PassContext& context) {
  const auto* facts = dynamic_cast<const SimtFacts*>(context.facts);
  KDL_CHECK(facts, "a pass of the simt family needs its facts");
  return *facts;
}

const targets::Family kFamily = {.name = "simt",
                                 .kinds = kKinds,
                                 .tiles = kTilePipeline,
                                 .pipes = kPipePipeline,
                                 .loops = kLoopPipeline,
                                 .generate = Generate,
                                 .instructions = kMatrixInstructions,
                                 .traits = DeviceTraits,
                                 .code_needs = passes::kCodeNeeds};

}  // namespace kdl::simt
