#include "codegen/llvm/compile.h"
#include "codegen/llvm/report_crashes.h"

#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <optional>
#include <string>
#include <utility>

#include "codegen/llvm/emitter.h"
#include "codegen/llvm/end_without_memory.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/optimize/optimize.h"
#include "codegen/llvm/optimize/sanitize.h"
#include "codegen/llvm/optimize/share_functions.h"
#include "codegen/llvm/optimize/widen_half.h"
#include "codegen/llvm/source_lines.h"
#include "ir/module.h"
#include "support/check.h"
#include "support/result.h"

namespace kdl::codegen {

namespace {

/// Sets the processor for which a function is compiled. Functions in the same object may be compiled for
/// different processors.
void SetProcessor(llvm::Function* function, const Processor& processor) {
  function->addFnAttr("target-cpu", processor.cpu);
  function->addFnAttr("target-features", processor.features);
  if (!processor.tune.empty()) function->addFnAttr("tune-cpu", processor.tune);
  if (processor.computes_half) function->addFnAttr(kComputesHalf);
  if (auto granules = static_cast<unsigned>(processor.scalable_bits / 128)) {
    function->addFnAttr(
        llvm::Attribute::getWithVScaleRangeArgs(function->getContext(), granules, granules));
  }
}

void EmitOne(llvm::Module& module, const AbiTypes& abi, const KernelSource& source,
             const ir::Function& kernel, std::string_view prefix, const Debugging& debugging,
             KernelCode& code) {
  DoingScope doing(fmt::format("making LLVM IR of kernel {}", kernel.name.text()));
  const ir::Module& from = *source.module;
  code.kernel = &kernel;
  code.level = source.processor->level;
  code.required_features = source.processor->required_features;
  code.reference = kernel.name.str();
  code.steps = source.processor->steps;
  code.has_fma = source.processor->has_fma;
  code.has_half = source.processor->has_half;
  code.entry = fmt::format("{}.{}.{}", prefix, kernel.name.text(), code.level);
  Emitter emitter(module, abi, kernel, code, from.context().names);
  emitter.debugging = debugging;
  EmitKernel(emitter);
  for (llvm::Function& made : module) {
    if (!made.isDeclaration() && !made.hasFnAttribute("target-cpu"))
      SetProcessor(&made, *source.processor);
  }
}

/// Names a Python script that gdb loads with the object, as gdb's manual describes for the section .debug_gdb_scripts.
void AddGdbScript(llvm::Module& module, const std::string& path) {
  constexpr const char* kPythonFile = "\1";
  llvm::Constant* entry =
      llvm::ConstantDataArray::getString(module.getContext(), kPythonFile + path);
  auto* global = new llvm::GlobalVariable(module, entry->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, entry, "gdb_script");
  global->setSection(".debug_gdb_scripts");
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  global->setAlignment(llvm::Align(1));
  llvm::appendToCompilerUsed(module, {global});
}

}  // namespace

Result<CompiledModule> CompileKernels(const Backend& backend, std::span<const KernelSource> sources,
                                      const CompileOptions& options) {
  const std::string name = sources[0].module->name.str();
  const std::string& prefix = options.prefix.empty() ? name : options.prefix;
  CompiledModule compiled;
  compiled.kind = options.kind;
  compiled.arch = backend.processor().arch;
  const Machine& machine = backend.machine();
  const EndWithoutMemory no_memory;
  const ReportCrashes crashes;
  llvm::LLVMContext context;
  context.setDiscardValueNames(!options.llvm_ir);
  auto module = machine.MakeModule(context, name);
  AbiTypes abi(context);
  bool optimizes = machine.opt_level() > 0;
  std::optional<SourceLines> lines;
  if (options.lines && options.variables)
    lines.emplace(*module, *options.variables, options.folder, optimizes);
  const Debugging debugging{
      options.variables,       /*keeps_variables=*/!optimizes, /*stage=*/-1,
      options.observes_blocks, lines ? &*lines : nullptr,      /*watch=*/nullptr};
  for (const KernelSource& source : sources) {
    for (const ir::Function* kernel : source.kernels)
      EmitOne(*module, abi, source, *kernel, prefix, debugging, compiled.kernels.emplace_back());
  }
  if (lines) lines->Finish();
  if (lines && !options.gdb_script.empty()) AddGdbScript(*module, options.gdb_script);
  Verify(*module);
  DoingScope doing(fmt::format("compiling module {} with LLVM", name));
  // With debug information, each kernel keeps its own lines. Some functions become equal only when they are optimized, such as
  // those that extend an i8 or a u8 to compare it with 0.
  if (!options.lines) ShareFunctions(*module);
  Optimize(&machine, machine.opt_level(), *module, compiled.kernels);
  if (!options.lines) ShareFunctions(*module);
  if (options.sanitizes_addresses) SanitizeAddresses(*module);
  if (options.llvm_ir) compiled.llvm_ir = Print(*module);
  // Emission changes the module. If an object is needed as well, the assembly is emitted from a copy.
  if (options.assembly && options.object) {
    compiled.assembly = machine.Emit(*llvm::CloneModule(*module), FileType::Assembly);
  } else if (options.assembly) {
    compiled.assembly = machine.Emit(*module, FileType::Assembly);
  }
  if (options.object) compiled.object = machine.Emit(*module, FileType::Object);
  return compiled;
}

}  // namespace kdl::codegen
