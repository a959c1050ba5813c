#pragma once

#include <string>

#include "tools/lsp/analysis.h"

namespace kdl::tools::lsp {

/// Does what `kernelc check` does, including the proofs. Returns JSON: the member `diagnostics` in the form of the
/// protocol, and `tiles`, the sizes that are chosen for the host: a list of kernels with the values of their constants.
std::string FullCheck(const Surroundings& around, const std::string& path, const std::string& text);

}  // namespace kdl::tools::lsp
