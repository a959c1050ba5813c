#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace kdl::tools {

/// A command, from a line `//! args:` or `//! command:`.
struct GoldenCommand {
  std::vector<std::string> words;  ///< without `kernelc`, but with the file's name
  bool operator==(const GoldenCommand&) const = default;
};

/// A line of the source, and the diagnostics that are expected for it.
struct GoldenLine {
  std::string text;  ///< including its line end, if any
  /// The texts after `//~ ` on the lines that follow the source line.
  std::vector<std::string> annotations;
};

/// A named text. The name is `stdout`, `stderr` or the path of an output file. A name such as
/// `stdout of START` means only a block of that output: the block that begins with the first line
/// that contains START.
struct GoldenSection {
  std::string name;
  std::string text;

  std::string output() const;  ///< the name of the output without `of START`
};

/// A source file with its expected output. tests/golden/README.md describes the format.
struct GoldenFile {
  std::vector<GoldenCommand> commands;
  std::vector<std::string> companions;  ///< other files in the same folder that the commands need
  int exit_code = 0;
  std::vector<GoldenLine> lines;
  std::vector<std::string> above;  ///< annotations before the first line
  std::vector<GoldenSection> sections;

  const GoldenSection* Find(std::string_view name) const;
};

/// Parses a file named `name`. Returns nothing if it contains no command, since it is then not a
/// golden file. Returns a Failure if a directive or section is malformed.
Result<std::optional<GoldenFile>> ParseGolden(std::string_view text, std::string_view name);

/// Returns the text of the file, in the format that ParseGolden reads.
std::string FormatGolden(const GoldenFile& file);

/// Returns the input of the compiler: directives, source and annotations, without the sections.
std::string CompilerInput(const GoldenFile& file);

/// Splits a string at spaces, except inside single or double quotes.
std::vector<std::string> SplitWords(std::string_view text);

/// The output of a command.
struct GoldenActual {
  std::string out;
  std::string err;
  std::vector<GoldenSection> files;  ///< the output files for which the golden file has a section
};

/// Returns a copy of `file` in which the actual output replaces the expected output. The test
/// passes if the texts of both are equal. `name` is the file's name in diagnostics.
GoldenFile WithActual(const GoldenFile& file, const GoldenActual& actual, std::string_view name);

}  // namespace kdl::tools
