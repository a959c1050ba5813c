// Reads what kernels have printed from the memory of a launch, in the format of kdl/workgroup_abi.h.
#pragma once

#include <cstdint>
#include <span>

#include "core/error.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// The print memory of a launch, in 8-byte numbers.
inline constexpr std::int64_t kPrintNumbers = 1 << 17;

// Returns whether the variant contains prints.
bool Prints(const kdl_variant& variant);

// Prints the contents of `numbers`, the used part of the print memory. `taken` is how many numbers all prints
// together needed, which may be more than fit.
Error ShowPrints(const kdl_launch_request& request, std::span<const std::int64_t> numbers,
                 std::int64_t taken);

}  // namespace kdl::runtime
