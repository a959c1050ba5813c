#include "family.h"

#include <array>

#include "kdl/device_keys.h"
#include "passes/pipelines.h"
#include "targets/instructions.h"
#include "targets/simt/passes.h"
#include "targets/text_code.h"

namespace mesh {

namespace {

using namespace kdl;
using namespace kdl::passes;

constexpr ir::MatrixInstruction kEights{.name = "mesh.eights",
                                        .a = Scalar::F16,
                                        .b = Scalar::F16,
                                        .acc = Scalar::F32,
                                        .depth = 8,
                                        .order = ir::StepOrder::Pairs,
                                        .flushes = false,
                                        .term = ir::OpKind::Mul};
constexpr const ir::MatrixInstruction* kMatrixInstructions[] = {&kEights};

constexpr int64_t kThreads = 4;
constexpr int64_t kBlock = 8;
constexpr int64_t kScratchBytes = 16 << 20;

/// Sets each constant that the compiler chooses to the number of terms of a matrix instruction, or to the
/// first allowed value if the kernel lists values.
class Blocks final : public passes::TileSelector {
 public:
  std::vector<int64_t> Select(const ir::Function& kernel) const override {
    std::vector<int64_t> chosen;
    for (const ir::Generic& generic : kernel.generics) {
      if (!generic.is_auto || !generic.values.empty()) continue;
      chosen.push_back(generic.choices.empty() ? kBlock : generic.choices.front());
    }
    return chosen;
  }
};

Result<std::vector<targets::Target>> Make(const targets::Spec& spec) {
  auto facts = std::make_shared<simt::SimtFacts>();
  facts->level = "mesh";
  facts->threads = kThreads;
  facts->most_threads = kThreads;
  facts->scratch_bytes = kScratchBytes;
  facts->instructions = {&kEights, &targets::kBf16Pairs};
  std::vector<targets::Target> made;
  made.push_back({&kFamily, facts, std::make_shared<Blocks>(), "mesh", spec.text});
  return made;
}

constexpr targets::TargetKind kKinds[] = {{"mesh", "", KDL_INTERPRETER_KEYS, Make,
                                           "a machine that is not there, run by the interpreter",
                                           "", true}};

using namespace simt;
#include "generated_pipelines/mesh.inc"

}  // namespace

const targets::Family kFamily = {.name = "mesh",
                                 .kinds = kKinds,
                                 .tiles = kTilePipeline,
                                 .pipes = kPipePipeline,
                                 .loops = kLoopPipeline,
                                 .generate = targets::GenerateText,
                                 .instructions = kMatrixInstructions,
                                 .code_needs = kCodeNeeds};

}  // namespace mesh
