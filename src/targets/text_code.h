#pragma once

#include <span>

#include "targets/family.h"

namespace kdl::targets {

/// The `generate` function of device kinds that interpret KIR. The payload of the image is the text of the
/// kernels' KIR after the family's last pass. The entry of a kernel is its name in that text. The image has
/// the kind that the targets' specs name.
Result<codegen::CompiledModule> GenerateText(std::span<const TargetKernels> kernels,
                                             const codegen::CompileOptions& options);

}  // namespace kdl::targets
