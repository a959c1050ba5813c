#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>

// LLVM 19 turns selects and conditions on float comparisons into minima and maxima (`minnum`, `maxnum`),
// which may give a different result. Its ValueTracking does not see that `x < 0.0 ? 0.0 : x` yields -0.0 for
// -0.0. AArch64's instruction returns NaN for a signaling NaN where the comparison would have chosen the
// number. The functions in this file prevent such changes. The `min` and `max` of KIR are llvm.minimum and
// llvm.maximum, which are exact except in one case on x86.

namespace kdl::codegen {

/// Adds InstCombine, but hides from it that a compared value is also an operand of a select.
void AddInstCombine(llvm::FunctionPassManager& passes);

/// Tells instruction selection that the machine has no `minnum` and `maxnum`, for all functions of the
/// module.
void ForbidMinMaxNumber(const llvm::TargetMachine& machine, const llvm::Module& module);

/// Hides selects that compute a minimum or maximum from the instruction selection of a different version of
/// LLVM, which reads the module as text.
void HideMinMax(llvm::Module& module);

/// For x86 with AVX-512: hides from instruction selection that an operand of a scalar minimum or maximum is
/// never NaN. Otherwise LLVM 19 uses `vfpclass` to check only whether the other operand is a quiet NaN. If
/// the other operand is a signaling NaN, the result would be a number instead of NaN.
void HideNumbers(const llvm::TargetMachine& machine, llvm::Module& module);

}  // namespace kdl::codegen
