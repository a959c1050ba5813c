#pragma once

#include <llvm/IR/Function.h>

namespace kdl::codegen {

/// Whether the function is long, or was a part of a long one. Some transformations are not worth their time and code there.
bool IsLong(const llvm::Function& function);

/// Marks a function that is long, so that its parts are still long when they have become functions.
void MarkIfLong(llvm::Function& function);

}  // namespace kdl::codegen
