#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>

// LLVM 19 takes selects and conditions whose comparisons are of floats for minima and maxima ("minnum", "maxnum"), which
// have other bits: its ValueTracking does not see that `x < 0.0 ? 0.0 : x` of -0.0 is -0.0, and AArch64's instruction makes
// a NaN of a signaling one where the comparison had chosen the number. These functions keep LLVM from that. What KIR means by
// `min` and `max` is llvm.minimum and llvm.maximum, which are exact but for one case on x86.

namespace kdl::codegen {

/// Adds InstCombine, which sees no comparison of what its select chooses between.
void AddInstCombine(llvm::FunctionPassManager& passes);

/// Tells the machine's instruction selection that it has no such minima and maxima for any function of the module.
void ForbidMinMaxNumber(const llvm::TargetMachine& machine, const llvm::Module& module);

/// Hides such selects from the instruction selection of another LLVM, which gets the module as text.
void HideMinMax(llvm::Module& module);

/// Hides from the instruction selection of x86 with AVX-512 that an operand of a scalar minimum or maximum is never NaN: LLVM 19
/// then asks `vfpclass` only whether the other one is a quiet NaN, and gives the number where it is a signaling one.
void HideNumbers(const llvm::TargetMachine& machine, llvm::Module& module);

}  // namespace kdl::codegen
