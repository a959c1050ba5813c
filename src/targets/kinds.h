#pragma once

#include <string_view>

// The kinds of device spec that are used by default. Families in the registry provide these kinds; other code
// refers to them by these constants, which say what they are for.

namespace kdl::targets {

/// This machine, on which programs run if they do not name a device.
inline constexpr std::string_view kOwnKind = "host";
/// The device for finding mistakes: it poisons memory, runs cores in any order and checks contracts.
inline constexpr std::string_view kDebugKind = "debug";
/// The interpreter, which defines the correct results. Its images contain KIR.
inline constexpr std::string_view kReferenceKind = "reference";

}  // namespace kdl::targets
