#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/options.h"
#include "driver/run/run_program.h"
#include "ir/module.h"
#include "support/diagnostics.h"

namespace kdl::driver {

/// The spec that --target gives what runs in one place; empty: none. Several are reported.
std::optional<std::string> OnlyTarget(const Options& options, DiagnosticEngine& diagnostics);

/// Where a kernel that is launched by itself runs: as --device says of the file's first device, else `target`, else the host.
std::string PlaceOfKernel(const ir::Module& module, const std::string& target,
                          const Options& options);

/// Gives every device of the module its spec: of `bindings`, NAME=SPEC as --device has them, else `under_test` where that is not empty, else what
/// the file says. A module without devices gets one, `host`, with the spec `under_test` or `host`. A promise that nothing
/// binds is an error where `needs_all`.
std::optional<DeviceSpecs> ResolveSpecs(ir::Module& module, const std::string& file,
                                        const std::string& under_test, bool needs_all,
                                        const std::vector<std::string>& bindings,
                                        DiagnosticEngine& diagnostics);

/// What launches on any device may reach, in the place of a device's name.
inline constexpr const char* kAnyDevice = "";

}  // namespace kdl::driver
