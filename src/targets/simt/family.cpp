#include "targets/simt/family.h"

#include "codegen/opencl/compile.h"
#include "support/check.h"
#include "targets/simt/pipelines.h"
#include "targets/simt/tile_selector.h"
#include "targets/units.h"

namespace kdl::simt {

namespace {

using targets::Spec;
using targets::Target;

Result<std::vector<Target>> MakeOpencl(const Spec& spec) {
  auto facts = std::make_shared<SimtFacts>();
  facts->level = "opencl";
  facts->units = {&targets::kBf16Pairs};
  std::vector<Target> made;
  made.push_back({&kFamily, facts, MakeTileSelector(), "opencl", spec.text});
  return made;
}

constexpr targets::TargetKind kKinds[] = {{"opencl", "", "", MakeOpencl,
                                           "an OpenCL device of any vendor: its driver compiles "
                                           "the kernels when they are first launched"}};

Result<codegen::CompiledModule> Generate(std::span<const targets::TargetKernels> targets,
                                         const codegen::CompileOptions&) {
  std::vector<const ir::Function*> kernels;
  for (const targets::TargetKernels& one : targets)
    kernels.insert(kernels.end(), one.kernels.begin(), one.kernels.end());
  const auto& facts = static_cast<const SimtFacts&>(*targets[0].target->facts);
  return codegen::opencl::Compile(kernels, facts.near_bytes);
}

}  // namespace

const SimtFacts& FactsOf(const passes::PassContext& context) {
  const auto* facts = dynamic_cast<const SimtFacts*>(context.facts);
  KDL_CHECK(facts, "a pass of the family of teams runs for a team");
  return *facts;
}

const targets::Family kFamily = {.name = "simt",
                                 .kinds = kKinds,
                                 .tiles = kTilePipeline,
                                 .pipes = kPipePipeline,
                                 .loops = kLoopPipeline,
                                 .generate = Generate};

}  // namespace kdl::simt
