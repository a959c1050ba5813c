#include "codegen/llvm/optimize.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/InferAlignment.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <utility>

#include "codegen/llvm/coroutines.h"
#include "codegen/llvm/widen_half.h"

namespace kdl::codegen {

namespace {

/// Loops, vectors and blocks of registers are decided in KIR; what is left is redundancy within
/// straight code, addresses that no turn of a loop changes, and how far those are aligned. Analyses go with their function: a
/// file may hold a thousand kernels.
llvm::ModulePassManager CleanUp(Invariants invariants) {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  if (invariants == Invariants::Hoist)
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                         /*UseMemorySSA=*/true));
  passes.addPass(llvm::InferAlignmentPass());
  llvm::ModulePassManager module_passes;
  module_passes.addPass(
      llvm::createModuleToFunctionPassAdaptor(std::move(passes), /*EagerlyInvalidate=*/true));
  return module_passes;
}

}  // namespace

void Optimize(const Machine& machine, llvm::Module& module, std::span<KernelCode> kernels,
              Invariants invariants) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine.target_machine());
  llvm::TargetLibraryInfoImpl library(machine.target_machine().getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  if (SplitCoroutines(module, modules)) PlaceFrames(module, kernels);
  if (machine.opt_level() == 0) return;
  CleanUp(invariants).run(module, modules);
  WidenHalf(module);
}

}  // namespace kdl::codegen
