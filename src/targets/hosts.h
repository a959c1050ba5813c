#pragma once

#include <optional>
#include <string_view>

#include "codegen/llvm/processor.h"

namespace kdl::targets {

/// The architecture of the machine that kernelc runs on: `x86-64`.
std::string_view OwnArch();

/// The least processor of an architecture that programs run on; nothing: none do.
std::optional<codegen::Processor> HostProcessor(std::string_view arch);

}  // namespace kdl::targets
