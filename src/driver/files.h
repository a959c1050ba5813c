#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"

namespace kdl::driver {

/// The whole file. What stands in the way is reported: missing (with the name that was probably
/// meant), no regular file, no permission, longer than `max_bytes`.
std::optional<std::string> ReadInputFile(const std::string& path, size_t max_bytes,
                                         DiagnosticEngine& diagnostics);

/// A file that is to be written.
struct OutputFile {
  std::string path;
  std::string bytes;
  bool executable = false;
};

/// Whether files may be written there: their folders exist, no two are one, and none is an input. Reports the first that may
/// not, and how to name another.
bool MayWrite(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs,
              std::string_view how, DiagnosticEngine& diagnostics);

/// Makes the folder, and those around it, unless it is there. Reports.
bool MakeFolder(const std::string& path, DiagnosticEngine& diagnostics);

/// Writes all, each whole, or none: what is there already is replaced once all of it is on the disk. Reports.
bool WriteOutputFiles(const std::vector<OutputFile>& files, DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
