#include "targets/cluster/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <ranges>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "codegen/cluster/c_text.h"
#include "codegen/cluster/compile.h"
#include "codegen/llvm/backend.h"
#include "kdl/cluster_description_reader.hpp"
#include "kdl/device_keys.h"
#include "support/check.h"
#include "support/io.h"
#include "targets/cluster/copied_bytes.h"
#include "targets/cluster/link.h"
#include "targets/cluster/pipelines.h"
#include "targets/instructions.h"
#include "targets/simt/facts.h"
#include "targets/simt/tile_selector.h"
#include "targets/simt/traits.h"

namespace kdl::cluster {

namespace {

using targets::Spec;
using targets::Target;

constexpr std::string_view kOwnText =
#include "cluster_riscv64.inc"
    ;

/// The kind of the images for clusters. The architecture of such an image is the name of the machine.
constexpr std::string_view kImageKind = "cluster";

struct ClusterFacts : simt::SimtFacts {
  ClusterDescription machine;
  codegen::Processor processor;
};

/// The matrix instructions that a machine's description may name. Each of them computes the same result on
/// every machine.
constexpr const ir::MatrixInstruction* kMatrixInstructions[] = {&targets::kBf16Pairs};

/// The number of bytes of accumulators that a processor without vectors keeps in registers during a product:
/// half of 32 float registers.
constexpr int64_t kHeldBytes = 64;
/// The same number for a processor with vectors: half of 32 vector registers of the minimum length that
/// RISC-V allows.
constexpr int64_t kHeldInVectors = 256;

codegen::Processor DescribedProcessor(const ClusterDescription& machine) {
  codegen::Processor processor;
  processor.arch = processor.level = machine.name;
  processor.triple = machine.triple;
  processor.cpu = machine.cpu;
  processor.features = fmt::format("{}", fmt::join(machine.features, ","));
  return processor;
}

/// Checks that kernelc's LLVM can generate code for the described processor, one key of the description after
/// another.
Status CheckForLlvm(const ClusterDescriptionReader& reader, const codegen::Processor& processor) {
  static constexpr std::pair<const char*, std::string codegen::Processor::*> kSaid[] = {
      {"triple", &codegen::Processor::triple},
      {"cpu", &codegen::Processor::cpu},
      {"features", &codegen::Processor::features}};
  codegen::Processor known;
  for (const auto& [key, field] : kSaid) {
    known.*field = processor.*field;
    Status checked = codegen::CheckProcessor(known);
    if (!checked) return Failure{reader.At(key) + checked.failure().message, FailureKind::User};
  }
  return {};
}

/// Returns the files on which an image depends, apart from the kernels: the boot code, and the files that the
/// tools' command lines name.
std::vector<std::string> ImageFiles(const ClusterDescription& machine) {
  std::vector<std::string> files;
  auto add = [&](const std::string& path) {
    std::error_code error;
    if (path.find('/') != std::string::npos && std::filesystem::is_regular_file(path, error))
      files.push_back(std::filesystem::path(path).lexically_normal().string());
  };
  if (!machine.boot.empty()) files.push_back(machine.boot);
  if (machine.code != ClusterCode::Llvm) std::ranges::for_each(machine.compile, add);
  std::ranges::for_each(machine.link, add);
  return files;
}

/// Compiles one machine's kernels to an object file, with kernelc's LLVM, a different LLVM or a C compiler.
Result<codegen::CompiledModule> MakeObject(const targets::TargetKernels& kernels,
                                           const ClusterFacts& facts,
                                           const codegen::CompileOptions& options) {
  const ClusterCode code = facts.machine.code;
  Result<codegen::CompiledModule> compiled =
      code == ClusterCode::C
          ? codegen::cluster::CompileC(kernels.kernels, facts.workgroup_bytes, options)
          : codegen::cluster::Compile(
                {kernels.module, kernels.kernels, &facts.processor}, facts.workgroup_bytes,
                code == ClusterCode::LlvmIr ? facts.machine.layout : "", options);
  if (!compiled || code == ClusterCode::Llvm) return compiled;
  compiled->arch = facts.arch;
  for (codegen::KernelCode& one : compiled->kernels) one.level = facts.level;
  Result<std::string> object = CompileText(facts.machine, compiled->payload);
  if (!object) return object.failure();
  compiled->payload = std::move(*object);
  return compiled;
}

Result<std::vector<Target>> DescribedTargets(std::string_view file, std::string_view text,
                                             std::string spec) {
  // The machine's compiler runs in a different folder, so paths must be absolute.
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::absolute(file, error).parent_path();
  ClusterDescriptionReader reader(file, text, folder.string() + "/");
  if (!reader.error.empty()) return Failure{reader.error, FailureKind::User};
  auto facts = std::make_shared<ClusterFacts>();
  facts->machine = std::move(reader.description);
  facts->processor = DescribedProcessor(facts->machine);
  if (facts->machine.code == ClusterCode::Llvm) {
    if (Status known = CheckForLlvm(reader, facts->processor); !known) return known.failure();
  }
  facts->arch = facts->level = facts->machine.name;
  facts->threads = facts->most_threads = facts->machine.workers();
  const bool has_vectors = codegen::HasRiscvVectors(facts->processor);
  facts->held_bytes = has_vectors ? kHeldInVectors : kHeldBytes;
  facts->in_vectors = has_vectors && facts->machine.code != ClusterCode::C;
  facts->walks_blocks = false;  // so that copies can start in earlier iterations
  facts->workgroup_bytes = facts->workgroup_limit = facts->ring_bytes =
      facts->machine.launch_scratchpad_bytes();
  facts->global_pipes = facts->machine.pipes == ClusterPipes::Memory;
  for (const std::string& name : facts->machine.instructions) {
    auto instruction = std::ranges::find(kMatrixInstructions, name, &ir::MatrixInstruction::name);
    if (instruction == std::end(kMatrixInstructions)) {
      return Failure{fmt::format("{}unknown matrix instruction '{}'; the known ones are: {}",
                                 reader.At("instructions"), name,
                                 fmt::join(kMatrixInstructions |
                                               std::views::transform(&ir::MatrixInstruction::name),
                                           " ")),
                     FailureKind::User};
    }
    facts->instructions.push_back(*instruction);
  }
  std::vector<Target> made;
  made.push_back({&kFamily, facts, simt::MakeTileSelector(*facts), std::move(spec), ""});
  made[0].files = ImageFiles(facts->machine);
  return made;
}

Result<std::vector<Target>> MakeOwn(const Spec&) {
  return DescribedTargets("cluster-riscv64", kOwnText, "cluster-riscv64");
}

Result<std::vector<Target>> MakeDescribed(const Spec& spec) {
  for (const auto& [key, value] : spec.options) {
    if (key != "description") continue;
    Result<std::string> text = ReadFile(value, kMostOfDescription);
    if (!text) return text.failure();
    auto made = DescribedTargets(value, *text, fmt::format("cluster?description={}", value));
    if (made) (*made)[0].files.insert((*made)[0].files.begin(), value);
    return made;
  }
  return Failure{fmt::format("target '{}': a machine with clusters needs a description: "
                             "cluster?description=FILE",
                             spec.text),
                 FailureKind::Usage};
}

Result<codegen::CompiledModule> Generate(std::span<const targets::TargetKernels> targets,
                                         const codegen::CompileOptions& options) {
  KDL_CHECK(targets.size() == 1, "{} machines have the same name", targets.size());
  const auto& facts = static_cast<const ClusterFacts&>(*targets[0].target->facts);
  codegen::CompileOptions of_kind = options;
  of_kind.kind = kImageKind;
  Result<codegen::CompiledModule> compiled = MakeObject(targets[0], facts, of_kind);
  if (!compiled) return compiled;
  Result<std::string> image = Link(facts.machine, compiled->payload);
  if (!image) return image.failure();
  compiled->payload = std::move(*image);
  return compiled;
}

Result<std::string> Describe(const Spec& spec) {
  Result<std::vector<Target>> made = spec.kind == "cluster" ? MakeDescribed(spec) : MakeOwn(spec);
  if (!made) return made.failure();
  for (const auto& [key, value] : spec.options) {
    if (key == "description") return ReadFile(value, kMostOfDescription);
  }
  return std::string(kOwnText);
}

std::vector<targets::Trait> ClusterTraits(const passes::TargetFacts& facts) {
  return simt::SimtTraits(static_cast<const ClusterFacts&>(facts));
}

constexpr targets::TargetKind kKinds[] = {
    {"cluster-riscv64", "", KDL_OWN_CLUSTER_KEYS, MakeOwn,
     "five clusters of 16 RISC-V processors with 4 MiB of scratchpad each, under qemu-riscv64", ""},
    {"cluster",
     "description",
     KDL_CLUSTER_KEYS,
     MakeDescribed,
     "clusters of processors with scratchpads, described in the file description=FILE",
     "elf",
     false,
     {},
     "description"}};

}  // namespace

const targets::Family kFamily = {.name = "cluster",
                                 .kinds = kKinds,
                                 .tiles = kTilePipeline,
                                 .pipes = kPipePipeline,
                                 .loops = kLoopPipeline,
                                 .generate = Generate,
                                 .copied_bytes = CopiedBytes,
                                 .describe = Describe,
                                 .traits = ClusterTraits,
                                 .code_needs = passes::kCodeNeeds};

}  // namespace kdl::cluster
