#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"
#include "support/result.h"

namespace kdl::driver {

/// Reads a whole file. Reports an error if the path does not exist, is not a readable regular file,
/// or is longer than `max_bytes`. For a missing file, the error suggests the most similar name that
/// exists. The file becomes an input of the command.
std::optional<std::string> ReadInputFile(const std::string& path, size_t max_bytes,
                                         DiagnosticEngine& diagnostics);

/// The first bytes of a file, and the number of all of its bytes.
struct InputStart {
  std::string bytes;
  int64_t file_bytes = 0;
};
/// Reads at most `max_bytes` from the beginning of a file that may be longer. Otherwise like ReadInputFile.
std::optional<InputStart> ReadInputStart(const std::string& path, size_t max_bytes,
                                         DiagnosticEngine& diagnostics);

/// Reads a file like ReadInputFile, but one that the command writes again, such as that of `tune --tuned`.
std::optional<std::string> ReadRewrittenFile(const std::string& path, size_t max_bytes,
                                             DiagnosticEngine& diagnostics);

/// Adds files to the inputs of the command that other code reads, or that are read later.
void AddInputs(const std::vector<std::string>& paths);

/// Reads standard input to its end. Reports an error if it is longer than `max_bytes`.
std::optional<std::string> ReadStandardInput(size_t max_bytes, DiagnosticEngine& diagnostics);

/// A file to be written.
struct OutputFile {
  std::string path;
  std::string bytes;
  bool executable = false;
};

/// Adds files to the outputs of the command. Returns whether they and all earlier outputs may be
/// written: their folders exist, no two paths name the same file, and none of them is an input so
/// far. Reports the first problem, unless an earlier call has. `how` tells the user how to choose
/// another name.
bool MayWrite(const std::vector<std::string>& outputs, std::string_view how,
              DiagnosticEngine& diagnostics);

/// Creates the folder and its parents if they do not exist. Reports errors.
bool MakeFolder(const std::string& path, DiagnosticEngine& diagnostics);

/// Writes all files or none. Existing files are replaced only after all new contents are on disk.
/// Files that MayWrite has refused, or that have become inputs since, are not written. Reports
/// errors, except those that MayWrite has reported.
bool WriteOutputFiles(const std::vector<OutputFile>& files, DiagnosticEngine& diagnostics);

/// Returns whether MayWrite has refused one of the files, or one has become an input since. Reports new errors.
bool AnyRefused(const std::vector<OutputFile>& files, DiagnosticEngine& diagnostics);

/// Reports that a file cannot be read or written.
void ReportUnreadable(const std::string& path, const Failure& failure,
                      DiagnosticEngine& diagnostics);
void ReportUnwritable(const std::string& path, const Failure& failure,
                      DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
