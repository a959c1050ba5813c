#pragma once

#include <string>
#include <vector>

#include "support/result.h"

namespace kdl::codegen {

/// Links object files into a shared object, with LLVM's linker lld, which is part of this program. Only one
/// thread at a time may link, and none may compile meanwhile, because lld resets LLVM's options. `inputs` are
/// objects, and may contain options of lld.
Status LinkShared(const std::vector<std::string>& inputs, const std::string& output);

}  // namespace kdl::codegen
