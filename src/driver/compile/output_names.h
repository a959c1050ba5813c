#pragma once

#include <string>
#include <string_view>

#include "driver/options.h"
#include "support/diagnostics.h"
#include "targets/registry.h"

namespace kdl::driver {

/// Whether each --path-prefix-map is OLD=NEW; reported where one is not.
bool CheckPrefixMap(const Options& options, DiagnosticEngine& diagnostics);

/// The name of the outputs: that of the option, else the file's.
std::string ModuleName(const Options& options);

/// Whether files of a build can be named so, in the output folder alone, and be included in C; reported where not.
bool CheckModuleName(std::string_view name, const Options& options, DiagnosticEngine& diagnostics);

/// What the outputs of a build call a source: its path, mapped by the last --path-prefix-map that fits, else from the folder
/// of the file that is compiled, so that they are the same wherever the sources lie. With -g, for a debugger, and in what runs
/// at once it is the path.
std::string NameInOutputs(const Options& options, const std::string& path);

/// Devices, one spec or several, as the outputs of a build name them: paths in them are mapped by --path-prefix-map, too.
std::string SpecsInOutputs(const Options& options, const targets::Registry& families,
                           std::string_view list);

}  // namespace kdl::driver
