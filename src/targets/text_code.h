#pragma once

#include <span>

#include "targets/family.h"

namespace kdl::targets {

/// The code of kinds that are interpreted: a family's `generate`. The payload is the KIR of the kernels as the family's last
/// pass leaves them, the entries their names in it; the image is of the kind that the targets' specs name.
Result<codegen::CompiledModule> GenerateText(std::span<const TargetKernels> kernels,
                                             const codegen::CompileOptions& options);

}  // namespace kdl::targets
