// What kernels have printed: numbers in a launch's memory, which kdl/workgroup_abi.h describes.
#pragma once

#include <cstdint>
#include <span>

#include "core/error.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// Of a launch, in 8 bytes each.
inline constexpr std::int64_t kPrintNumbers = 1 << 17;

// Whether the variant prints at all.
bool Prints(const kdl_variant& variant);

// Prints what `numbers`, the memory as far as it is taken, holds; `taken` is how far it would be with more of it.
Error ShowPrints(const kdl_launch_request& request, std::span<const std::int64_t> numbers,
                 std::int64_t taken);

}  // namespace kdl::runtime
