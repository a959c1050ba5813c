#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"

namespace kdl::driver {

/// A file of the standard library. The library is embedded in the compiler.
struct StdlibFile {
  std::string_view path;  ///< such as `math/exp.kdl`
  std::string_view text;
};
std::span<const StdlibFile> StdlibFiles();

/// Returns the file that `import NAME;` imports, such as `std.nn`, or null if there is none.
const StdlibFile* FindStdlibFile(std::string_view name);

/// Whether a file contains elementary functions, such as `exp`, which need no import.
bool IsElementary(const StdlibFile& file);

/// Returns the names of the files, such as `std.nn`, without those of elementary functions.
std::vector<std::string> StdlibNames();

/// Whether `name` has the form of a library file's name, such as `std.nn`, and there is neither such
/// a file nor one on disk. If so, reports it and lists the files of the library.
bool ReportUnknownStdlibFile(const std::string& name, DiagnosticEngine& diagnostics);

/// Returns the path of a file in messages, such as `std/nn.kdl`.
std::string StdlibPath(const StdlibFile& file);

}  // namespace kdl::driver
