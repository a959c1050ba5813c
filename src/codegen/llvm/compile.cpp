#include "codegen/llvm/compile.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <string>
#include <utility>

#include "codegen/llvm/emitter.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/optimize.h"
#include "ir/module.h"
#include "support/check.h"
#include "support/result.h"

namespace kdl::codegen {

namespace {

void EmitOne(llvm::Module& module, const AbiTypes& abi, const ir::Module& source,
             const ir::Function& kernel, const std::string& processor, KernelCode& code) {
  DoingScope doing(fmt::format("making LLVM IR of kernel {}", kernel.name.text()));
  code.kernel = &kernel;
  code.entry = fmt::format("{}.{}.{}", source.name.text(), kernel.name.text(), processor);
  Emitter emitter(module, abi, kernel, code);
  EmitKernel(emitter);
  EmitLaunchCheck(module, abi, kernel, source.context().names, code);
}

void Verify(const llvm::Module& module) {
  std::string complaint;
  llvm::raw_string_ostream stream(complaint);
  bool broken = llvm::verifyModule(module, &stream);
  KDL_CHECK(!broken, "{}", complaint);
}

std::string Print(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

}  // namespace

Result<CompiledModule> CompileKernels(const Backend& backend, const ir::Module& source,
                                      const CompileOptions& options) {
  CompiledModule compiled;
  const Machine& machine = backend.machine();
  llvm::LLVMContext context;
  context.setDiscardValueNames(!options.llvm_ir);
  auto module = machine.MakeModule(context, source.name.str());
  AbiTypes abi(context);
  for (const ir::Function* function : source.functions()) {
    if (function->kind != ir::FunctionKind::Kernel) continue;
    EmitOne(*module, abi, source, *function, backend.facts().cpu, compiled.kernels.emplace_back());
  }
  Verify(*module);
  DoingScope doing(fmt::format("compiling module {} with LLVM", source.name.text()));
  Optimize(machine, *module);
  if (options.llvm_ir) compiled.llvm_ir = Print(*module);
  // Emission changes the module: where both are wanted, the assembly takes a copy.
  if (options.assembly && options.object) {
    compiled.assembly = machine.Emit(*llvm::CloneModule(*module), FileType::Assembly);
  } else if (options.assembly) {
    compiled.assembly = machine.Emit(*module, FileType::Assembly);
  }
  if (options.object) compiled.object = machine.Emit(*module, FileType::Object);
  return compiled;
}

}  // namespace kdl::codegen
