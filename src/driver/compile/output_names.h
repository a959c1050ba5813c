#pragma once

#include <string>
#include <string_view>

#include "driver/options.h"
#include "support/diagnostics.h"
#include "targets/registry.h"

namespace kdl::driver {

/// Whether each --path-prefix-map has the form OLD=NEW. Reports the first that does not.
bool CheckPrefixMap(const Options& options, DiagnosticEngine& diagnostics);

/// Returns the base name of the outputs: the name given with --module, or by default the name of
/// the file without its extension, which for a library file such as `std.nn` is its last word.
std::string ModuleName(const Options& options);

/// Whether `name` can name output files in the output folder and a C header. Reports an error if it
/// cannot.
bool CheckModuleName(std::string_view name, const Options& options, DiagnosticEngine& diagnostics);

/// Returns the name under which the outputs of a build refer to a source. The last
/// --path-prefix-map that matches applies. If none matches, the name is the path relative to the
/// folder of the compiled file, so that outputs do not depend on where the sources are. With -g,
/// and in code that runs immediately, the name is the full path.
std::string NameInOutputs(const Options& options, const std::string& path);

/// Returns the current folder, to which paths of sources are relative, as debug information names it.
/// --path-prefix-map applies.
std::string FolderInOutputs(const Options& options);

/// Returns the path of the script with which gdb shows tiles, or nothing if it is not installed. --path-prefix-map
/// applies.
std::string GdbScript(const Options& options);

/// Returns a list of device specs as written into the outputs of a build. --path-prefix-map applies
/// to the paths in the specs.
std::string SpecsInOutputs(const Options& options, const targets::Registry& families,
                           std::string_view list);

}  // namespace kdl::driver
