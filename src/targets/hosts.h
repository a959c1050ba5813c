#pragma once

#include <optional>
#include <string_view>

#include "codegen/llvm/processor.h"

namespace kdl::targets {

/// Returns the architecture of the machine on which kernelc runs, for example `x86-64`.
std::string_view OwnArch();

/// Returns the baseline processor of an architecture, or nothing if programs do not run on that architecture.
std::optional<codegen::Processor> HostProcessor(std::string_view arch);

}  // namespace kdl::targets
