#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace kdl::tools {

/// A line `//! args:` or `//! command:`.
struct GoldenCommand {
  std::vector<std::string> words;  ///< without `kernelc`, but with the file's name
  bool operator==(const GoldenCommand&) const = default;
};

/// A line of the source and the diagnostics that are expected for it.
struct GoldenLine {
  std::string text;                      ///< including its line end, if any
  std::vector<std::string> annotations;  ///< what follows `//~ ` on the lines after it
};

/// A named text: `stdout`, `stderr` or the path of an output file. With a name such as `stdout of
/// START`, it is only the block of that output that begins with its first line that contains START.
struct GoldenSection {
  std::string name;
  std::string text;

  std::string output() const;  ///< the name of the whole output
};

/// A source file with its expected output. tests/golden/README.md describes the format.
struct GoldenFile {
  std::vector<GoldenCommand> commands;
  std::vector<std::string> companions;  ///< other files in its folder that it needs
  int exit_code = 0;
  std::vector<GoldenLine> lines;
  std::vector<std::string> above;  ///< annotations before the first line
  std::vector<GoldenSection> sections;

  const GoldenSection* Find(std::string_view name) const;
};

/// Parses a file with the name `name`. Returns nothing if it has no command and so is not a golden
/// file, or a Failure if a directive or section is malformed.
Result<std::optional<GoldenFile>> ParseGolden(std::string_view text, std::string_view name);

/// Returns the text of the file, which ParseGolden can read.
std::string FormatGolden(const GoldenFile& file);

/// Returns the input of the compiler: directives, source and annotations, without the sections.
std::string CompilerInput(const GoldenFile& file);

/// Splits a text at spaces. Single or double quotes keep words together.
std::vector<std::string> SplitWords(std::string_view text);

/// The output of a command.
struct GoldenActual {
  std::string out;
  std::string err;
  std::vector<GoldenSection> files;  ///< output files for which the golden file has sections
};

/// Returns `file` with the output of the run instead of the expected one. The test passes if their
/// texts are equal. `name` is the file's name in diagnostics.
GoldenFile WithActual(const GoldenFile& file, const GoldenActual& actual, std::string_view name);

}  // namespace kdl::tools
