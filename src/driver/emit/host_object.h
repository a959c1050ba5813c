#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/compile/compile.h"

namespace kdl::driver {

/// The architectures that the code's programs can run on, each once; kernelc's own where all code is for devices.
std::vector<std::string> HostArchs(const Code& code);

/// Whether programs with this code run on this machine; reported where they do not.
bool RunsHere(const Code& code, DiagnosticEngine& diagnostics);

/// What a program on a host of this architecture is linked with: its own code and that of all devices, not other hosts'.
std::vector<Part*> PartsOf(Code& code, std::string_view arch);

/// Whether the interpreter runs the code by what is asked for: then KIR goes into the host's object.
bool EmbedsIr(const Options& options, const Code& code);

/// NAME.host.o for a host: the images of all devices and their registration. It is made once, and belongs to the code. Null
/// after a report.
const std::string* CompileHostObject(Session& session, Compilation& made, std::string_view arch,
                                     bool embeds_ir);

}  // namespace kdl::driver
