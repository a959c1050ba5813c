#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/emit/host_object.h"
#include "interp/run.h"
#include "ir/builder.h"
#include "ir/print/printer.h"
#include "ir/views.h"
#include "passes/passes.h"
#include "targets/builtin.h"

// Adds a family of targets to the compiler without changes outside this file. Its machines have one
// instruction, which adds, so a pass of the family turns each subtraction into an addition of the negated
// operand.

namespace kdl::driver {

namespace {

using passes::PassContext;

inline constexpr passes::Fact kSubtractionsGone{"subtractions-gone"};
inline constexpr passes::Fact kNobodyGives{"nobody-gives"};

void RunAddNegatives(PassContext& context, ir::Function& kernel) {
  std::vector<ir::Op*> found;
  ir::Walk(kernel.body, [&](ir::Op* op) {
    if (op->kind() == ir::OpKind::Sub) found.push_back(op);
  });
  ir::Builder builder(context.module);
  for (ir::Op* op : found) {
    builder.SetInsertionPoint(op);
    builder.set_loc(op->loc());
    ir::Value* negative = builder.Make(ir::OpKind::Neg, {op->operand(1)}, op->operand(1)->type());
    ir::Value* sum =
        builder.Make(ir::OpKind::Add, {op->operand(0), negative}, op->result()->type());
    op->result()->ReplaceAllUsesWith(sum);
    ir::Erase(op);
  }
}

constexpr passes::Pass kAddNegatives{
    .on_kernel = RunAddNegatives,
    .name = "add-negatives",
    .summary = "a - b becomes a + -b",
    .needs = {{&passes::kFnsInlined, "what fns subtract goes, too"}},
    .gives = {&kSubtractionsGone}};

constexpr passes::Pass kTooEarly{.on_kernel = RunAddNegatives,
                                 .name = "too-early",
                                 .summary = "needs what nobody gives",
                                 .needs = {{&kNobodyGives, "it would find nothing"}}};

constexpr passes::Pass kForgets{.on_kernel = RunAddNegatives,
                                .name = "forgets",
                                .summary = "ends what add-negatives gave",
                                .withdraws = {&kSubtractionsGone}};
constexpr passes::Pass kTooLate{.on_kernel = RunAddNegatives,
                                .name = "too-late",
                                .summary = "needs what has ended",
                                .needs = {{&kSubtractionsGone, "it would find some"}}};

/// Selects 8 for every constant that the compiler must choose.
class EightByEight final : public passes::TileSelector {
 public:
  std::vector<int64_t> Select(const ir::Function& kernel) const override {
    std::vector<int64_t> chosen;
    for (const ir::Generic& generic : kernel.generics) {
      if (generic.is_auto && generic.values.empty()) chosen.push_back(8);
    }
    return chosen;
  }
};

extern const targets::Family kAdders;

Result<std::vector<targets::Target>> MakeAdder(const targets::Spec& spec) {
  auto facts = std::make_shared<passes::TargetFacts>();
  facts->arch = "adder";
  facts->level = "adder-1";
  std::vector<targets::Target> made;
  made.push_back({&kAdders, facts, std::make_shared<EightByEight>(), spec.text, spec.text});
  return made;
}

/// Generates code, which is the text of the kernels.
Result<codegen::CompiledModule> Generate(std::span<const targets::TargetKernels> kernels,
                                         const codegen::CompileOptions&) {
  codegen::CompiledModule compiled;
  compiled.kind = "adder";
  compiled.arch = "adder";
  for (const targets::TargetKernels& one : kernels) {
    for (const ir::Function* kernel : one.kernels) {
      codegen::KernelCode& code = compiled.kernels.emplace_back();
      code.kernel = kernel;
      code.level = one.target->facts->level;
      compiled.payload += ir::Print(*kernel);
    }
  }
  return compiled;
}

constexpr targets::TargetKind kKinds[] = {{"adder", "", "", MakeAdder, "adds"}};
constexpr const passes::Pass* kTiles[] = {&passes::kSelectTiles};
constexpr const passes::Pass* kPipes[] = {&passes::kLayOutPipes, &passes::kInjectPipeBuffers,
                                          &passes::kInlineFunctions, &passes::kFuseStages};
constexpr const passes::Pass* kLoops[] = {&kAddNegatives};
const targets::Family kAdders{"adders", kKinds, kTiles, kPipes, kLoops, Generate};

constexpr std::string_view kSource = R"(
fn apart(a: f32, b: f32) -> f32 { return a - b; }
export kernel differ<B: int = auto>(x: in f32[N], y: in f32[N], z: out f32[N]) {
    spmd for i in N by B { z[i] = apart(x[i], y[i]) - 1.0; }
}
)";

struct Compiled {
  targets::Registry families = targets::BuiltinFamilies();
  Options options;
  std::optional<Session> session;
  Compilation made;
  Code& code = made.code;

  explicit Compiled(const std::string& spec) {
    REQUIRE(families.Add(kAdders).ok());
    options.files = {"differ.kdl"};
    options.opt_level = 0;
    session.emplace(options, families);
    CompileRequest request{.text = std::string(kSource)};
    request.places.code_for = spec;
    made = Compile(*session, std::move(request));
    REQUIRE(made.ok());
  }
};

std::vector<float> InterpretKernel(const ir::Module& module, const ir::Function& kernel) {
  std::vector<std::vector<float>> memory = {{1, 2, 3, 4, 5}, {5, 4, -3, 2, 1}, {9, 9, 9, 9, 9}};
  interp::KernelArguments arguments;
  for (std::vector<float>& values : memory) {
    interp::TensorArgument tensor;
    tensor.scalar = Scalar::F32;
    tensor.sizes = {5};
    tensor.strides = {1};
    tensor.data = reinterpret_cast<std::byte*>(values.data());
    arguments.tensors.push_back(tensor);
  }
  auto ran = interp::RunKernel(module, kernel, arguments, 2, {});
  REQUIRE(ran.ok());
  REQUIRE(!ran->has_value());
  return memory[2];
}

}  // namespace

TEST_CASE("an external family of targets adds its own passes, code and images") {
  Compiled compiled("adder");
  REQUIRE(compiled.code.parts.size() == 1);
  const TargetCode& target = compiled.code.targets[0];
  const codegen::CompiledModule& made = compiled.code.parts[0].compiled;
  CHECK(made.payload.find("sub ") == std::string::npos);
  CHECK(made.payload.find("neg ") != std::string::npos);
  CHECK(target.module->after == "add-negatives");
  CHECK(target.module->target == "adder");
  const ir::Function& lowered = *target.module->functions().back();
  const ir::Function& tiled = *target.tiled->functions().back();
  CHECK(InterpretKernel(*target.module, lowered) == InterpretKernel(*target.tiled, tiled));
  CHECK(InterpretKernel(*target.module, lowered) == std::vector<float>{-5, -3, 5, 1, 3});
}

TEST_CASE("code for devices of several families is in one object of the host") {
  Compiled compiled("adder,host");
  REQUIRE(compiled.code.parts.size() == 2);
  std::vector<std::string> archs = HostArchs(compiled.code);
  REQUIRE(archs.size() == 1);
  const std::string* host = CompileHostObject(*compiled.session, compiled.made, archs[0], false);
  REQUIRE(host);
  CHECK(host->find(compiled.code.parts[0].compiled.payload) != std::string::npos);
  CHECK(host->find("differ.x86-64-v3") != std::string::npos);
}

TEST_CASE("a registry checks the order of a family's passes, and keeps names distinct") {
  constexpr const passes::Pass* too_early[] = {&kTooEarly};
  const targets::Family broken{"broken", {}, kTiles, too_early, {}, nullptr};
  targets::Registry families = targets::BuiltinFamilies();
  Status added = families.Add(broken);
  REQUIRE(!added.ok());
  CHECK(added.failure().message ==
        "family 'broken': pass 'too-early' needs 'nobody-gives', which no earlier pass "
        "establishes: it "
        "would find nothing");

  constexpr const passes::Pass* twice[] = {&passes::kSelectTiles, &passes::kSelectTiles};
  const targets::Family repeats{"repeats", {}, twice, kPipes, {}, nullptr};
  CHECK(families.Add(repeats).failure().message.find("'select-tiles' runs twice") !=
        std::string::npos);

  static constexpr ir::MatrixInstruction threes{.name = "threes",
                                                .a = Scalar::F16,
                                                .b = Scalar::F16,
                                                .acc = Scalar::F32,
                                                .depth = 3,
                                                .order = ir::StepOrder::Pairs,
                                                .flushes = false,
                                                .term = ir::OpKind::Mul};
  static constexpr const ir::MatrixInstruction* instructions[] = {&threes};
  targets::Family odd{"odd", {}, kTiles, kPipes, {}, nullptr};
  odd.instructions = instructions;
  CHECK(families.Add(odd).failure().message ==
        "family 'odd': matrix instruction 'threes' must have 1 to 32 terms per step; with pairs, a "
        "power of two and op 'mul'");

  static constexpr passes::Pass other{
      .on_kernel = RunAddNegatives, .name = "distribute-blocks", .summary = "another"};
  constexpr const passes::Pass* others[] = {&other};
  const targets::Family same_pass{"same", {}, kTiles, kPipes, others, nullptr};
  CHECK(families.Add(same_pass).failure().message ==
        "family 'same': there is another pass 'distribute-blocks'");

  constexpr const passes::Pass* too_late[] = {&kAddNegatives, &kForgets, &kTooLate};
  const targets::Family forgets{"forgets", {}, kTiles, kPipes, too_late, nullptr};
  CHECK(families.Add(forgets).failure().message.find("'too-late' needs 'subtractions-gone'") !=
        std::string::npos);

  const targets::Family late{"late", {}, kTiles, {}, {}, nullptr};
  CHECK(families.Add(late).failure().message.find("'scale-pipe-buffers' needs 'pipes-decided'") !=
        std::string::npos);

  REQUIRE(families.Add(kAdders).ok());
  CHECK(families.Add(kAdders).failure().message ==
        "family 'adders': there is another kind 'adder'");
}

}  // namespace kdl::driver
