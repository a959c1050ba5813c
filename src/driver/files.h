#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"

namespace kdl::driver {

/// Reads a whole file. Reports an error if the path does not exist, is not a readable regular file,
/// or is longer than `max_bytes`. For a missing file, the error suggests the most similar name that
/// exists.
std::optional<std::string> ReadInputFile(const std::string& path, size_t max_bytes,
                                         DiagnosticEngine& diagnostics);

/// Reads standard input to its end. Reports an error if it is longer than `max_bytes`.
std::optional<std::string> ReadStandardInput(size_t max_bytes, DiagnosticEngine& diagnostics);

/// A file to be written.
struct OutputFile {
  std::string path;
  std::string bytes;
  bool executable = false;
};

/// Whether the files may be written: their folders exist, no two paths name the same file, and none
/// of them is an input. Reports the first problem. `how` tells the user how to choose another name.
bool MayWrite(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs,
              std::string_view how, DiagnosticEngine& diagnostics);

/// Creates the folder and its parents if they do not exist. Reports errors.
bool MakeFolder(const std::string& path, DiagnosticEngine& diagnostics);

/// Writes all files or none. Existing files are replaced only after all new contents are on disk.
/// Reports errors.
bool WriteOutputFiles(const std::vector<OutputFile>& files, DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
