#pragma once

#include <string_view>

// Kinds of device spec that are taken where nobody names one. The families behind the registry have them; everybody else
// knows them by what they are for.

namespace kdl::targets {

/// This machine: where programs without devices run.
inline constexpr std::string_view kOwnKind = "host";
/// Finds mistakes: poisoned memory, cores in any order, contracts checked.
inline constexpr std::string_view kDebugKind = "debug";
/// The interpreter: what results are compared with. Its images hold KIR.
inline constexpr std::string_view kReferenceKind = "reference";

}  // namespace kdl::targets
