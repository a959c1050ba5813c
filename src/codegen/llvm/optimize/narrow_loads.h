#pragma once

#include <llvm/IR/Module.h>

namespace kdl::codegen {

/// For x86 at -O0: hides from instruction selection that the condition of a scalar select is a comparison of floats. Otherwise
/// LLVM 19 selects with `blendv`, and replaces the register of an operand that was loaded just before it with the memory of the
/// element. The instruction then reads 16 bytes, which may be outside of the tensor.
void KeepLoadsNarrow(llvm::Module& module);

}  // namespace kdl::codegen
