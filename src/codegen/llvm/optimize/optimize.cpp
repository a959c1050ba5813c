#include "codegen/llvm/optimize/optimize.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/InferAlignment.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Vectorize/LoopVectorize.h>
#include <llvm/Transforms/Vectorize/SLPVectorizer.h>

#include <utility>

#include "codegen/llvm/coroutines/coroutines.h"
#include "codegen/llvm/optimize/exact_compares.h"
#include "codegen/llvm/optimize/lane_sums.h"
#include "codegen/llvm/optimize/mask_loops.h"
#include "codegen/llvm/optimize/narrow_loads.h"
#include "codegen/llvm/optimize/reduce_strength.h"
#include "codegen/llvm/optimize/share_addresses.h"
#include "codegen/llvm/optimize/share_loops.h"
#include "codegen/llvm/optimize/split_functions.h"
#include "codegen/llvm/optimize/widen_half.h"
#include "support/check.h"

namespace kdl::codegen {

namespace {

/// Adds passes that vectorize straight-line code and loops.
void FindVectors(llvm::FunctionPassManager& passes) {
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopRotatePass()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::IndVarSimplifyPass()));
  passes.addPass(llvm::LoopVectorizePass());
  passes.addPass(llvm::SLPVectorizerPass());
  AddInstCombine(passes);
  passes.addPass(llvm::SimplifyCFGPass());
}

/// Unrolls loops that have unroll metadata on their back edge. Does not change other loops, or functions
/// without marked loops.
class UnrollMarked : public llvm::PassInfoMixin<UnrollMarked> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    auto is_marked = [](const llvm::BasicBlock& block) {
      return block.getTerminator()->hasMetadata(llvm::LLVMContext::MD_loop);
    };
    if (llvm::none_of(function, is_marked)) return llvm::PreservedAnalyses::all();
    return llvm::LoopUnrollPass(llvm::LoopUnrollOptions(/*OptLevel=*/2, /*OnlyWhenForced=*/true))
        .run(function, analyses);
  }
};

/// Returns a pass that runs the passes on each function. Analyses are freed after each function, since a file may contain
/// a thousand kernels.
auto ForEachFunction(llvm::FunctionPassManager passes) {
  return llvm::createModuleToFunctionPassAdaptor(std::move(passes), /*EagerlyInvalidate=*/true);
}

/// Returns the passes that run on every module. Loops, vectors and register blocks are already final in
/// KIR. LLVM's passes only remove redundancy from straight-line code, hoist loop-invariant addresses, and
/// infer the alignment of accesses.
llvm::ModulePassManager CleanUp(Invariants invariants, Vectors vectors,
                                const llvm::Triple& triple) {
  llvm::FunctionPassManager simplify;
  simplify.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  simplify.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  if (triple.isX86()) simplify.addPass(ShareAddresses());
  if (vectors == Vectors::AsWritten) simplify.addPass(ShowLaneSums());
  AddInstCombine(simplify);
  simplify.addPass(llvm::SimplifyCFGPass());
  llvm::FunctionPassManager improve;
  if (invariants == Invariants::Hoist)
    improve.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                          /*UseMemorySSA=*/true));
  if (vectors == Vectors::Found) FindVectors(improve);
  improve.addPass(UnrollMarked());
  improve.addPass(llvm::InferAlignmentPass());
  if (triple.isX86()) improve.addPass(ReduceStrength());
  llvm::ModulePassManager passes;
  passes.addPass(ForEachFunction(std::move(simplify)));
  if (triple.isX86() || triple.isAArch64()) {
    passes.addPass(ShareLoops());
    passes.addPass(SplitFunctions());
  }
  passes.addPass(ForEachFunction(std::move(improve)));
  return passes;
}

}  // namespace

void Optimize(const Machine* machine, int opt_level, llvm::Module& module,
              std::span<KernelCode> kernels, Invariants invariants, Vectors vectors) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine ? &machine->target_machine() : nullptr);
  llvm::TargetLibraryInfoImpl library(llvm::Triple(module.getTargetTriple()));
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  if (SplitCoroutines(module, modules)) PlaceFrames(module, kernels);
  llvm::Triple triple(module.getTargetTriple());
  if (opt_level == 0 && triple.isX86()) KeepLoadsNarrow(module);
  if (opt_level > 0) {
    CleanUp(invariants, vectors, triple).run(module, modules);
    WidenHalf(module);
    if (machine) MakeMaskLoops(module, functions, machine->target_machine());
  }
  if (!machine) HideMinMax(module);
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

}  // namespace kdl::codegen
