#include <fmt/format.h>
#include <llvm/Support/Error.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <memory>
#include <optional>
#include <utility>

#include "codegen/llvm/end_without_memory.h"
#include "codegen/llvm/optimize/optimize.h"
#include "codegen/llvm/report_crashes.h"
#include "codegen/llvm/workgroup/emitter.h"
#include "support/check.h"

namespace kdl::codegen {

namespace {

/// Checks that every declared function is defined. LLVM turns intrinsics that it does not know into calls of
/// undefined functions.
void CheckComplete(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    KDL_CHECK(!function.isDeclaration() || function.isIntrinsic(),
              "code for {} calls '{}', which is not defined", module.getTargetTriple(),
              function.getName().str());
  }
}

/// Creates an empty module for a target that this version of LLVM may not support.
std::unique_ptr<llvm::Module> ForeignModule(llvm::LLVMContext& context, const std::string& name,
                                            const std::string& triple, const std::string& layout) {
  auto module = std::make_unique<llvm::Module>(name, context);
  module->setTargetTriple(triple);
  module->setDataLayout(layout);
  return module;
}

Status CheckLayout(const std::string& layout) {
  llvm::Expected<llvm::DataLayout> parsed = llvm::DataLayout::parse(layout);
  if (parsed) return {};
  return Failure{fmt::format("'{}' is not an LLVM data layout: {}", layout,
                             llvm::toString(parsed.takeError())),
                 FailureKind::User};
}

}  // namespace

Result<CompiledModule> CompileWorkgroups(const KernelSource& source,
                                         const WorkgroupMachine& workgroup,
                                         const CompileOptions& options) {
  std::optional<Backend> backend;
  if (workgroup.layout.empty()) {
    Result<Backend> made = Backend::Create(*source.processor, options.opt_level);
    if (!made) return made.failure();
    backend = std::move(*made);
  } else if (Status checked = CheckLayout(workgroup.layout); !checked) {
    return checked.failure();
  }
  const std::string name = source.module->name.str();
  const EndWithoutMemory no_memory;
  const ReportCrashes crashes;
  llvm::LLVMContext context;
  auto module = backend ? backend->machine().MakeModule(context, name)
                        : ForeignModule(context, name, source.processor->triple, workgroup.layout);
  AbiTypes abi(context);
  CompiledModule compiled;
  compiled.kind = options.kind;
  compiled.arch = source.processor->arch;
  for (const ir::Function* kernel : source.kernels) {
    KernelCode& code = compiled.kernels.emplace_back();
    code.kernel = kernel;
    code.level = source.processor->level;
    code.steps = source.processor->steps;
    code.entry = WorkgroupEntry(*kernel, compiled.kernels.size());
    DoingScope doing(fmt::format("making LLVM IR of kernel {}", kernel->name.text()));
    workgroup.emit(*module, abi, *kernel, source.module->context().names, code);
  }
  workgroup.finish(*module, compiled);
  Verify(*module);
  DoingScope doing(fmt::format("compiling module {} with LLVM", name));
  // If the output is assembly text, the vendor's assembler hoists invariants itself, and knows how many
  // registers there are.
  Optimize(backend ? &backend->machine() : nullptr, options.opt_level, *module, compiled.kernels,
           workgroup.file == FileType::Assembly ? Invariants::Leave : Invariants::Hoist,
           workgroup.has_vectors ? Vectors::Found : Vectors::AsWritten);
  workgroup.write_out(*module);
  CheckComplete(*module);
  if (options.llvm_ir) compiled.llvm_ir = Print(*module);
  // Emission changes the module, so the assembly is emitted from a copy of the module.
  if (options.assembly && backend && workgroup.file == FileType::Object)
    compiled.assembly = backend->machine().Emit(*llvm::CloneModule(*module), FileType::Assembly);
  compiled.payload = backend ? backend->machine().Emit(*module, workgroup.file) : Print(*module);
  return compiled;
}

}  // namespace kdl::codegen
