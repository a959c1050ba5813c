#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::driver {

inline constexpr std::string_view kCompilerName = "kernelc";

/// Writes the diagnostics to standard error. Uses colour on terminals unless NO_COLOR is set.
/// `program` is the prefix of diagnostics that have no source position.
void PrintDiagnostics(const DiagnosticEngine& diagnostics, const SourceManager& sources,
                      std::string_view program = kCompilerName);

/// Writes to standard output. Reports an error and returns false if that fails, for example because
/// the disk is full.
bool PrintOutput(std::string_view text, std::string_view program = kCompilerName);

/// Writes inessential text, such as times and progress, to standard error. Errors are ignored.
void PrintAside(std::string_view text);

// The object of --json. Like the standard output, there is one for a process.

/// Where the object goes: only it is printed, or it is written to a file and the texts are printed as usual.
enum class JsonPlace : uint8_t { Output, File };

/// Begins the object. From now on, it receives the texts and the diagnostics that the functions above print.
void BeginJson(std::string_view command, JsonPlace place);

/// Adds a member to the object if there is one. `value` is JSON.
void AddJson(std::string_view key, std::string_view value);

/// Ends the object with the exit code of the command, and returns its text.
std::string EndJson(int exit_code);

}  // namespace kdl::driver
