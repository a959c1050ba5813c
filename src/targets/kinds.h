#pragma once

#include <string_view>

// The kinds of device spec that are used by default. Families in the registry provide them; other code refers
// to them by purpose.

namespace kdl::targets {

/// This machine: where programs run that name no device.
inline constexpr std::string_view kOwnKind = "host";
/// Finds mistakes: poisons memory, runs cores in any order and checks contracts.
inline constexpr std::string_view kDebugKind = "debug";
/// The interpreter, which defines the correct results. Its images contain KIR.
inline constexpr std::string_view kReferenceKind = "reference";

}  // namespace kdl::targets
