#pragma once

#include <string>
#include <string_view>

#include "driver/options.h"
#include "support/diagnostics.h"
#include "targets/registry.h"

namespace kdl::driver {

/// Whether each --path-prefix-map has the form OLD=NEW. Reports one that does not.
bool CheckPrefixMap(const Options& options, DiagnosticEngine& diagnostics);

/// Returns the name of the outputs: the option's if given, else the file's.
std::string ModuleName(const Options& options);

/// Whether this can be the name of output files in the output folder and of a C header. Reports an
/// error if not.
bool CheckModuleName(std::string_view name, const Options& options, DiagnosticEngine& diagnostics);

/// Returns the name of a source in the outputs of a build. The last matching --path-prefix-map
/// applies. Otherwise it is the path relative to the folder of the compiled file, so that outputs do
/// not depend on where the sources are. With -g (for debuggers) and in code that is run immediately,
/// it is the full path.
std::string NameInOutputs(const Options& options, const std::string& path);

/// Returns a list of device specs as the outputs of a build contain it. --path-prefix-map applies
/// to paths in it.
std::string SpecsInOutputs(const Options& options, const targets::Registry& families,
                           std::string_view list);

}  // namespace kdl::driver
