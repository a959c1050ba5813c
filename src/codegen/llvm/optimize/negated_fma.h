#pragma once

#include <llvm/IR/Module.h>

// AArch64's FNMADD computes `(-a) * b - c`. LLVM 19 uses it for the scalar `-(a * b + c)`. If the sum is exactly
// 0.0, its negation is -0.0, but FNMADD gives 0.0.

namespace kdl::codegen {

/// For AArch64: hides from instruction selection that a scalar is the result of `fma`, so that its negation is
/// an instruction of its own.
void HideFmaResults(llvm::Module& module);

}  // namespace kdl::codegen
