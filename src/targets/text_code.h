#pragma once

#include <span>

#include "targets/family.h"

namespace kdl::targets {

/// The `generate` function for interpreted kinds. The payload is the kernels' KIR as the family's last pass
/// leaves it, and each entry is the kernel's name in it. The image has the kind that the targets' specs name.
Result<codegen::CompiledModule> GenerateText(std::span<const TargetKernels> kernels,
                                             const codegen::CompileOptions& options);

}  // namespace kdl::targets
