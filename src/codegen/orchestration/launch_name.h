#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/module.h"

namespace kdl::codegen {

/// When the name of a kernel states its types. `WhereNeeded`: if the arguments of a launch do not determine
/// the types. `WhereSeveral`, for uses of the name without arguments: whenever kernels differ only in their
/// types.
enum class TypeNames : uint8_t { WhereNeeded, WhereSeveral };

/// Returns the name under which the runtime finds the kernel that an op names, such as `MODULE.matmul` or
/// `MODULE.matmul<BM=32>`. MODULE is the runtime's name for the module.
std::string LaunchName(const ir::Module& module, std::string_view runtime_name, const ir::Op* op,
                       TypeNames types);

}  // namespace kdl::codegen
