#include "tools/loading/loaded_kernel.h"

#include <algorithm>

#include "driver/run/loop_inputs.h"
#include "driver/run/wrap_kernel.h"
#include "passes/diagnostics.h"
#include "support/check.h"
#include "tools/loading/load.h"

namespace kdl::tools {

namespace {

constexpr uint8_t kPoison = 0xAB;

ir::Function* Find(const ir::Module& module, const std::string& instance) {
  for (ir::Function* function : module.functions()) {
    if (function->name.text() == instance) return function;
  }
  return nullptr;
}

}  // namespace

LoadedKernel::LoadedKernel(driver::Options options, const targets::Registry& families,
                           KernelChoice choice, std::vector<std::string> targets)
    : options_(std::move(options)),
      choice_(std::move(choice)),
      targets_(std::move(targets)),
      session_(options_, families) {
  Compile();
}

void LoadedKernel::Compile() {
  driver::CompileRequest request;
  request.edit = [&](driver::Compilation& made) { return Prepare(made); };
  request.places = {.under_test = targets_, .bindings = options_.device};
  compilation_ = driver::Compile(session_, std::move(request));
  if (!compilation_.ok()) return;
  context_ = Load(session_, compilation_);
  FindTiles();
}

/// Removes everything but the kernel from the module, and adds programs that launch it.
bool LoadedKernel::Prepare(driver::Compilation& made) {
  ir::Function* kernel = Find(*made.module, choice_.instance);
  KDL_CHECK(kernel, "'{}' is no longer in the module", choice_.instance);
  for (ir::Generic& generic : kernel->generics) {
    for (const auto& [name, value] : choice_.constants) {
      if (generic.name.text() == name) generic.values = {value};
    }
  }
  contract_ = driver::FindContract(made.contracts.list, *made.module, *kernel);
  loop_inputs_ = driver::LoopInputs(*made.module, *kernel);
  // All devices of the file are bound to the target under test.
  Name device = made.module->devices.empty() ? Name() : made.module->devices[0].name;
  auto_ = driver::WrapKernel(*made.module, *kernel, device);
  counted_ = driver::WrapKernel(*made.module, *kernel, device, driver::WrapCores::Parameter);
  driver::KeepOnly(*made.module, {auto_, counted_});
  return true;
}

void LoadedKernel::FindTiles() {
  for (const driver::TargetCode& target : compilation_.code.targets) {
    if (!target.tiled) continue;
    for (const ir::Function* function : target.tiled->functions()) {
      for (const ir::Axis& axis : function->axes) {
        bool walks = axis.domain && axis.domain->kind == SizeKind::Symbol;
        if (walks && axis.extent && IsConstant(axis.extent))
          tiles_[axis.domain->symbol].insert(axis.extent->value);
      }
    }
  }
}

bool LoadedKernel::excludes_constants() const {
  auto excludes = [](const auto& one) {
    return one->severity != Severity::Error || one->id == passes::diag::StaticAssertFails.id;
  };
  return diagnostics().has_errors() && std::ranges::all_of(diagnostics().all(), excludes);
}

Status LoadedKernel::RunOnTarget(const std::string& target, std::optional<int64_t> core_num,
                                 driver::BoundProgram& bound) const {
  auto number = static_cast<size_t>(std::ranges::find(targets_, target) - targets_.begin());
  driver::RunPlace place{context_.get(), *compilation_.module, compilation_.devices.at(number),
                         session_.sources, &compilation_.contracts.list};
  driver::RunMemory memory{kPoison, true};
  if (!core_num) return driver::RunOnce(place, *auto_, memory, bound);
  driver::BoundArgument cores;
  cores.name = "core_num";
  cores.tensor.scalar = Scalar::I64;
  cores.tensor.bytes.resize(sizeof(int64_t));
  driver::SetElementBits(cores.tensor, 0, static_cast<uint64_t>(*core_num));
  bound.arguments.push_back(std::move(cores));
  Status ran = driver::RunOnce(place, *counted_, memory, bound);
  bound.arguments.pop_back();
  return ran;
}

}  // namespace kdl::tools
