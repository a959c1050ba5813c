#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/options.h"
#include "driver/run/run_program.h"
#include "ir/module.h"
#include "support/diagnostics.h"

namespace kdl::driver {

/// Returns the spec given with --target for something that runs in one place, or an empty string.
/// Reports an error if several are given.
std::optional<std::string> OnlyTarget(const Options& options, DiagnosticEngine& diagnostics);

/// Returns where a kernel runs that is launched on its own: on the device that --device binds for
/// the first device of the file, or else on `target`, or else on the host.
std::string PlaceOfKernel(const ir::Module& module, const std::string& target,
                          const Options& options);

/// Gives every device of the module its spec: from `bindings` (NAME=SPEC, as given with --device),
/// or else `under_test` if not empty, or else from the file. A module without devices gets one
/// named `host`, with the spec `under_test` or `host`. With `needs_all`, an unbound promise is an
/// error.
std::optional<DeviceSpecs> ResolveSpecs(ir::Module& module, const std::string& file,
                                        const std::string& under_test, bool needs_all,
                                        const std::vector<std::string>& bindings,
                                        DiagnosticEngine& diagnostics);

/// A device name that represents all devices.
inline constexpr const char* kAnyDevice = "";

}  // namespace kdl::driver
