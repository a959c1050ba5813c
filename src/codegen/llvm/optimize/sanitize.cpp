#include "codegen/llvm/optimize/sanitize.h"

#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Instrumentation/AddressSanitizer.h>

namespace kdl::codegen {

void SanitizeAddresses(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) function.addFnAttr(llvm::Attribute::SanitizeAddress);
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::AddressSanitizerOptions options;
  // A kernel returns no addresses of its stack, and a false report would be worse than a missed one.
  options.UseAfterReturn = llvm::AsanDetectStackUseAfterReturnMode::Never;
  llvm::AddressSanitizerPass(options).run(module, modules);
}

}  // namespace kdl::codegen
