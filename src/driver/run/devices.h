#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/options.h"
#include "driver/ranks/boxes.h"
#include "driver/run/run_program.h"
#include "ir/module.h"
#include "support/diagnostics.h"

namespace kdl::driver {

/// Returns the spec given with --target for a command that uses a single target, or an empty string
/// if none is given. Reports an error if several are given.
std::optional<std::string> OnlyTarget(const Options& options, DiagnosticEngine& diagnostics);

/// Returns the spec of the device for a kernel that is launched directly, without a program. That
/// is the spec that --device binds to the file's first device. Without --device, it is `target` if
/// that is given, or else the host.
std::string PlaceOfKernel(const ir::Module& module, const std::string& target,
                          const Options& options);

/// Assigns each device of the module its spec. `bindings` (NAME=SPEC, as given with --device) take
/// precedence, then `under_test` if it is not empty, then the specs in the file. A module without
/// devices gets a device named `host`, with the spec `under_test` or `host`. With `needs_all`, a
/// device that stays unbound is an error.
std::optional<DeviceSpecs> ResolveSpecs(ir::Module& module, const std::string& file,
                                        const std::string& under_test, bool needs_all,
                                        const std::vector<std::string>& bindings,
                                        DiagnosticEngine& diagnostics);

/// Gives a device the number or the shape of ranks in a text such as `8` or `2x4`. Returns what is wrong with the text, or an
/// empty string.
std::string SetRanks(ir::Device& device, std::string_view text);

/// Returns the grid of the device's ranks if there are `count` of them, or nothing if the declared shape has another number of
/// ranks. One rank has all positions.
std::optional<RankGrid> GridOf(const ir::Device& device, int64_t count);
/// The same for `count` processes, and reports an error if the shape has another number of ranks.
std::optional<RankGrid> GridOf(const ir::Device& device, int64_t count,
                               DiagnosticEngine& diagnostics);
/// Reports that the declared shape of a device does not have `count` ranks.
Diagnostic& ReportRanksShape(const ir::Device& device, int64_t count,
                             DiagnosticEngine& diagnostics);

/// A device name that represents all devices.
inline constexpr const char* kAnyDevice = "";

}  // namespace kdl::driver
