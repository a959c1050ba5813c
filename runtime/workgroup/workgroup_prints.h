// Prints what kernels have stored in the print memory of a launch, in the format of kdl/workgroup_abi.h.
#pragma once

#include <cstdint>
#include <span>

#include "core/error.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// The size of a launch's print memory in 8-byte numbers.
inline constexpr std::int64_t kPrintNumbers = 1 << 17;

// Returns whether the variant contains prints.
bool Prints(const kdl_variant& variant);

// Prints the contents of `numbers`, the used part of the print memory. `taken` is the total size of all
// prints. It is larger than the print memory if some prints did not fit.
Error ShowPrints(const kdl_launch_request& request, std::span<const std::int64_t> numbers,
                 std::int64_t taken);

}  // namespace kdl::runtime
