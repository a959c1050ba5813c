#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/common/call_table.h"
#include "driver/compile/compile.h"

namespace kdl::driver {

/// Returns the architectures on which the code's programs can run. If all code is for devices,
/// returns only the architecture of kernelc itself.
std::vector<std::string> HostArchs(const Code& code);

/// Whether programs with this code can run on this machine. Reports an error if not.
bool RunsHere(const Code& code, DiagnosticEngine& diagnostics);

/// Returns the parts to link into a program for a host of this architecture: the host's own code
/// and the code of all devices, but not the code of other hosts.
std::vector<Part*> LinkedParts(Code& code, std::string_view arch);

/// Whether the options request that the interpreter run the code. KIR is then embedded in the host
/// object.
bool EmbedsIr(const Options& options, const Code& code);

/// Returns the contents of NAME.host.o for a host: the images of all devices and their
/// registration. The contents are generated once and stored in `made`. On error, reports it and
/// returns null.
const std::string* CompileHostObject(Session& session, Compilation& made, std::string_view arch,
                                     bool embeds_ir);

/// Compiles the object of a library for this processor that defines the functions of NAME.h. On error, reports it and
/// returns nothing.
std::string CompileCallsObject(Session& session, const codegen::CallTable& table);

}  // namespace kdl::driver
