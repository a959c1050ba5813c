#pragma once

#include <llvm/IR/Module.h>

namespace kdl::codegen {

/// Adds checks for AddressSanitizer to all functions. The program into which the code is linked must have been compiled for
/// it, too: it contains the functions that the checks call.
void SanitizeAddresses(llvm::Module& module);

}  // namespace kdl::codegen
