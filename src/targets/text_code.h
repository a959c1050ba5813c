#pragma once

#include <span>

#include "targets/family.h"

namespace kdl::targets {

/// The `generate` function for interpreted kinds. The payload is the kernels' KIR after the family's last
/// pass. Each entry is the kernel's name in that KIR. The kind of the image is the one that the targets'
/// specs name.
Result<codegen::CompiledModule> GenerateText(std::span<const TargetKernels> kernels,
                                             const codegen::CompileOptions& options);

}  // namespace kdl::targets
