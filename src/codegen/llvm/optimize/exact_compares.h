#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>

// LLVM 19 turns selects and conditions on float comparisons into minima and maxima (`minnum`, `maxnum`)
// whose results differ from the comparisons'. Its ValueTracking does not see that `x < 0.0 ? 0.0 : x` of
// -0.0 is -0.0. AArch64's instruction returns NaN for a signaling NaN where the comparison would have chosen
// the number. These functions prevent such changes. The `min` and `max` of KIR are llvm.minimum and
// llvm.maximum, which are exact except in one case on x86.

namespace kdl::codegen {

/// Adds InstCombine, and hides from it comparisons of the values that a select chooses from.
void AddInstCombine(llvm::FunctionPassManager& passes);

/// Tells the machine's instruction selection, for any function of the module, that it does not have `minnum`
/// and `maxnum`.
void ForbidMinMaxNumber(const llvm::TargetMachine& machine, const llvm::Module& module);

/// Hides selects between the two numbers of a comparison from the instruction selection of another version
/// of LLVM, which gets the module as text.
void HideMinMax(llvm::Module& module);

/// For x86 with AVX-512: hides from instruction selection that an operand of a scalar minimum or maximum is
/// never NaN. Otherwise LLVM 19 uses `vfpclass` to check only whether the other operand is a quiet NaN. If
/// that operand is a signaling NaN, the result is then the number.
void HideNumbers(const llvm::TargetMachine& machine, llvm::Module& module);

}  // namespace kdl::codegen
