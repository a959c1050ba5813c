#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>

// LLVM 19 turns selects and conditions on float comparisons into minima and maxima (`minnum`, `maxnum`) that
// have other results. Its ValueTracking does not see that `x < 0.0 ? 0.0 : x` of -0.0 is -0.0, and AArch64's
// instruction returns NaN for a signaling NaN where the comparison would have chosen the number. These
// functions prevent that. The `min` and `max` of KIR are llvm.minimum and llvm.maximum, which are exact
// except in one case on x86.

namespace kdl::codegen {

/// Adds InstCombine in a way that it cannot see comparisons of the values that a select chooses from.
void AddInstCombine(llvm::FunctionPassManager& passes);

/// Tells the machine's instruction selection that it does not have such minima and maxima, for any function
/// of the module.
void ForbidMinMaxNumber(const llvm::TargetMachine& machine, const llvm::Module& module);

/// Hides such selects from the instruction selection of another LLVM, which gets the module as text.
void HideMinMax(llvm::Module& module);

/// For x86 with AVX-512: hides from instruction selection that an operand of a scalar minimum or maximum is
/// never NaN. Otherwise LLVM 19 uses `vfpclass` to check only whether the other operand is a quiet NaN, and
/// returns the number if it is a signaling one.
void HideNumbers(const llvm::TargetMachine& machine, llvm::Module& module);

}  // namespace kdl::codegen
