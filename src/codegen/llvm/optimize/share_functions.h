#pragma once

#include <llvm/IR/Module.h>

namespace kdl::codegen {

/// Makes functions that have the same instructions share them: all but the first become aliases of it or, if they
/// are private, are replaced by it. Instances of a kernel for several types are often equal, such as sums of i32 and
/// of u32. Must run before optimization, so that equal functions are compiled only once.
void ShareFunctions(llvm::Module& module);

}  // namespace kdl::codegen
