#pragma once

#include <llvm/IR/Module.h>

namespace kdl::codegen {

/// Of a function whose processor adds, subtracts, multiplies, divides and takes roots of `half`.
inline constexpr const char* kComputesHalf = "computes-half";

/// Gives arithmetic on `half` back to `float`: instcombine narrows f32 arithmetic between two
/// conversions, which most processors have no instructions for; LLVM 19 would take
/// vectors apart for it, and gets `maximum` and `minimum` of NaN and 0 wrong on the way. The
/// results are the same: only exact narrowing is undone. What a processor computes stays, and square roots join it.
void WidenHalf(llvm::Module& module);

}  // namespace kdl::codegen
