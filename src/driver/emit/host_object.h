#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/compile/compile.h"

namespace kdl::driver {

/// Returns the architectures that the code's programs can run on, or kernelc's own if all code is
/// for devices.
std::vector<std::string> HostArchs(const Code& code);

/// Whether programs with this code run on this machine. Reports an error if not.
bool RunsHere(const Code& code, DiagnosticEngine& diagnostics);

/// Returns the parts that a program for a host of this architecture is linked with: its own code
/// and that of all devices, but not that of other hosts.
std::vector<Part*> LinkedParts(Code& code, std::string_view arch);

/// Whether the options ask to run the code in the interpreter. KIR is then embedded in the host
/// object.
bool EmbedsIr(const Options& options, const Code& code);

/// Returns the contents of NAME.host.o for a host: the images of all devices and their
/// registration. It is made only once and is owned by the code. Returns null after an error, which
/// is reported.
const std::string* CompileHostObject(Session& session, Compilation& made, std::string_view arch,
                                     bool embeds_ir);

}  // namespace kdl::driver
