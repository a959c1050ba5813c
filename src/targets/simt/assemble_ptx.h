#pragma once

#include <string>
#include <string_view>

#include "support/result.h"

namespace kdl::simt {

/// Runs NVIDIA's assembler, `ptxas`, which must be in PATH. Returns machine code for the level (a cubin).
Result<std::string> AssemblePtx(const std::string& ptx, std::string_view level);

}  // namespace kdl::simt
