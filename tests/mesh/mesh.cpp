#include <memory>
#include <vector>

#include "kdl/device_keys.h"
#include "passes/pipelines.h"
#include "support/check.h"
#include "targets/builtin.h"
#include "targets/instructions.h"
#include "targets/simt/passes.h"
#include "targets/text_code.h"
#include "tools/kernelc.h"

namespace {

using namespace kdl;
using namespace kdl::simt;

/// An invented machine, as a family of targets. Each core has four threads and 16 MiB of workgroup memory. A matrix
/// instruction multiplies f16 values, eight at a time, and adds the products in pairs.
class Mesh final : public SimtFacts, public passes::TileSelector {
 public:
  static const targets::Family kFamily;

 private:
  static constexpr int64_t kThreads = 4;
  static constexpr int64_t kBlock = 8;
  static constexpr ir::MatrixInstruction kEights{.name = "mesh.eights",
                                                 .a = Scalar::F16,
                                                 .b = Scalar::F16,
                                                 .acc = Scalar::F32,
                                                 .depth = kBlock,
                                                 .order = ir::StepOrder::Pairs,
                                                 .flushes = false,
                                                 .term = ir::OpKind::Mul};

  // Inspect: a spec such as `mesh` gives the facts about the machine.
  Mesh() {
    level = "mesh";
    threads = kThreads;
    most_threads = kThreads;
    scratch_bytes = 16 << 20;
    instructions = {&kEights, &targets::kBf16Pairs};
  }
  static Result<std::vector<targets::Target>> Inspect(const targets::Spec& spec) {
    std::shared_ptr<const Mesh> mesh(new Mesh);
    return std::vector<targets::Target>{{&kFamily, mesh, mesh, "mesh", spec.text}};
  }

  // Select: each constant that the compiler chooses becomes the number of terms of a matrix instruction, or the first
  // allowed value if the kernel lists values.
  std::vector<int64_t> Select(const ir::Function& kernel) const override {
    std::vector<int64_t> chosen;
    for (const ir::Generic& generic : kernel.generics) {
      if (!generic.is_auto || !generic.values.empty()) continue;
      chosen.push_back(generic.choices.empty() ? kBlock : generic.choices.front());
    }
    return chosen;
  }

  // Lower: kFamily has the passes of pipeline.yaml.

  // Run: the interpreter runs what the passes have made.
  static constexpr auto kRun = targets::GenerateText;

  static constexpr targets::TargetKind kKinds[] = {
      {"mesh", "", KDL_INTERPRETER_KEYS, Inspect,
       "a machine that does not exist, run by the interpreter", "", true}};
  static constexpr const ir::MatrixInstruction* kInstructions[] = {&kEights};
};

// The passes of pipeline.yaml. Their order is checked when the family is added.
#include "generated_pipelines/mesh.inc"

const targets::Family Mesh::kFamily = {.name = "mesh",
                                       .kinds = kKinds,
                                       .tiles = kTilePipeline,
                                       .pipes = kPipePipeline,
                                       .loops = kLoopPipeline,
                                       .generate = kRun,
                                       .instructions = kInstructions,
                                       .code_needs = kCodeNeeds};

}  // namespace

// Runs kernelc with an additional family of targets.
int main(int argc, char** argv) {
  targets::Registry families = targets::BuiltinFamilies();
  Status added = families.Add(Mesh::kFamily);
  KDL_CHECK(added.ok(), "{}", added.failure().message);
  return tools::RunKernelc(argc, argv, std::move(families));
}
