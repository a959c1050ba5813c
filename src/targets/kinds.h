#pragma once

#include <string_view>

#include "kdl/own_device.h"

// The kinds of device spec to which kernelc itself refers. Families in the registry implement these kinds;
// all other code refers to them by these constants.

namespace kdl::targets {

/// The host itself. Programs that name no device run their kernels on it.
inline constexpr std::string_view kOwnKind = KDL_OWN_DEVICE;
/// A device for debugging. It poisons memory, runs cores in shuffled order, and checks contracts.
inline constexpr std::string_view kDebugKind = "debug";
/// The interpreter, which defines the correct results. Its images contain KIR (the compiler's IR).
inline constexpr std::string_view kReferenceKind = "reference";

}  // namespace kdl::targets
