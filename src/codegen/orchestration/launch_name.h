#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/module.h"

namespace kdl::codegen {

/// When a name says a kernel's types: where the arguments of a launch do not tell them, or, where there are no arguments,
/// wherever there are kernels that differ in them.
enum class TypeNames : uint8_t { WhereNeeded, WhereSeveral };

/// The name under which the runtime finds the kernel that an op names: `MODULE.matmul`, `MODULE.matmul<BM=32>`, MODULE being
/// the runtime's name of the module.
std::string LaunchName(const ir::Module& module, std::string_view runtime_name, const ir::Op* op,
                       TypeNames types);

}  // namespace kdl::codegen
