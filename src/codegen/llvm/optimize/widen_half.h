#pragma once

#include <llvm/IR/Module.h>

namespace kdl::codegen {

/// Attribute of functions for processors that can add, subtract, multiply, divide and take square roots of
/// `half`.
inline constexpr const char* kComputesHalf = "computes-half";

/// Turns arithmetic on `half` back into arithmetic on `float`. InstCombine narrows f32 arithmetic between two
/// conversions, but most processors have no instructions for `half`. On these, LLVM 19 would split vectors,
/// and get `maximum` and `minimum` of NaN and 0 wrong. Results do not change, since only exact narrowing is
/// undone. Arithmetic that the processor supports stays on `half`, and square roots are narrowed too.
void WidenHalf(llvm::Module& module);

}  // namespace kdl::codegen
