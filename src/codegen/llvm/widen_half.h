#pragma once

#include <llvm/IR/Module.h>

namespace kdl::codegen {

/// Gives arithmetic on `half` back to `float`: instcombine narrows f32 arithmetic between two
/// conversions, which no processor that we compile for has instructions for; LLVM 19 would take
/// vectors apart for it, and gets `maximum` and `minimum` of NaN and 0 wrong on the way. The
/// results are the same: only exact narrowing is undone.
void WidenHalf(llvm::Module& module);

}  // namespace kdl::codegen
