#include "codegen/ptx/compile.h"

#include <fmt/format.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/llvm/machine.h"
#include "codegen/llvm/optimize.h"
#include "codegen/ptx/team_emitter.h"
#include "support/check.h"

namespace kdl::codegen::ptx {

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
              "PTX calls '{}', which is not there", function.getName().str());
  }
}

std::string Print(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

void EmitOne(llvm::Module& module, const AbiTypes& abi, const ir::Function& kernel, Names& names,
             KernelCode& code, int64_t near_bytes) {
  DoingScope doing(fmt::format("making LLVM IR of kernel {}", kernel.name.text()));
  TeamEmitter emitter(module, abi, kernel, code, names);
  TeamMemory places(kernel, code, near_bytes);
  emitter.places = &places;
  EmitKernel(emitter);
}

}  // namespace

Processor ProcessorOf(std::string_view level) {
  Processor processor;
  processor.arch = processor.level = processor.cpu = level;
  processor.triple = "nvptx64-nvidia-cuda";
  processor.features = "+ptx83";
  return processor;
}

Result<CompiledModule> Compile(const KernelSource& source, int64_t near_bytes,
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
    code.entry = TeamEntry(*kernel, compiled.kernels.size());
    EmitOne(*module, abi, *kernel, source.module->context().names, code, near_bytes);
  }
  Verify(*module);
  DoingScope doing(fmt::format("compiling module {} with LLVM", name));
  Optimize(machine, *module, compiled.kernels);
  CheckComplete(*module);
  if (options.llvm_ir) compiled.llvm_ir = Print(*module);
  compiled.payload = machine.Emit(*module, FileType::Assembly);
  return compiled;
}

}  // namespace kdl::codegen::ptx
