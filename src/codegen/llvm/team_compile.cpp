#include <fmt/format.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/llvm/optimize.h"
#include "codegen/llvm/team_emitter.h"
#include "support/check.h"

namespace kdl::codegen {

namespace {

void Verify(const llvm::Module& module) {
  std::string complaint;
  llvm::raw_string_ostream stream(complaint);
  bool broken = llvm::verifyModule(module, &stream);
  KDL_CHECK(!broken, "{}", complaint);
}

/// Functions that are declared and not there: LLVM makes calls of intrinsics that it does not know.
void CheckComplete(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    KDL_CHECK(!function.isDeclaration() || function.isIntrinsic(),
              "code for {} calls '{}', which is not there", module.getTargetTriple(),
              function.getName().str());
  }
}

std::string Print(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

}  // namespace

Result<CompiledModule> CompileTeams(const KernelSource& source, const TeamMachine& team,
                                    const CompileOptions& options) {
  Result<Backend> backend = Backend::Create(*source.processor, options.opt_level);
  if (!backend) return backend.failure();
  const Machine& machine = backend->machine();
  const std::string name = source.module->name.str();
  llvm::LLVMContext context;
  auto module = machine.MakeModule(context, name);
  AbiTypes abi(context);
  CompiledModule compiled;
  compiled.kind = options.kind;
  compiled.arch = source.processor->arch;
  for (const ir::Function* kernel : source.kernels) {
    KernelCode& code = compiled.kernels.emplace_back();
    code.kernel = kernel;
    code.level = source.processor->level;
    code.steps = source.processor->steps;
    code.entry = TeamEntry(*kernel, compiled.kernels.size());
    DoingScope doing(fmt::format("making LLVM IR of kernel {}", kernel->name.text()));
    team.emit(*module, abi, *kernel, source.module->context().names, code);
  }
  team.finish(*module, compiled);
  Verify(*module);
  DoingScope doing(fmt::format("compiling module {} with LLVM", name));
  // Who assembles a text hoists, too, and knows how many registers there are.
  Optimize(machine, *module, compiled.kernels,
           team.file == FileType::Assembly ? Invariants::Leave : Invariants::Hoist);
  CheckComplete(*module);
  if (options.llvm_ir) compiled.llvm_ir = Print(*module);
  compiled.payload = machine.Emit(*module, team.file);
  return compiled;
}

}  // namespace kdl::codegen
