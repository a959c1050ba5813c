#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace kdl::tools {

/// One `//! args:` or `//! command:` line.
struct GoldenCommand {
  std::vector<std::string> words;  ///< without `kernelc`; the file's name stands in them
  bool operator==(const GoldenCommand&) const = default;
};

/// A line of the source with what is expected of it.
struct GoldenLine {
  std::string text;                      ///< with its line end, if it has one
  std::vector<std::string> annotations;  ///< what follows `//~ ` on the lines below it
};

/// A named text: `stdout`, `stderr` or an output file's path, or of one of these, `stdout of START`, the block that its first
/// line with START in it opens.
struct GoldenSection {
  std::string name;
  std::string text;

  std::string output() const;  ///< that it is, or is a part of
};

/// A source file with the output that is expected of it. tests/golden/README.md describes the form.
struct GoldenFile {
  std::vector<GoldenCommand> commands;
  std::vector<std::string> companions;  ///< files next to it that go along
  int exit_code = 0;
  std::vector<GoldenLine> lines;
  std::vector<std::string> above;  ///< annotations before the first line
  std::vector<GoldenSection> sections;

  const GoldenSection* Find(std::string_view name) const;
};

/// Reads a file called `name`. Nothing where it has no command, so is no golden file; a Failure
/// where a line that belongs to the form is wrong.
Result<std::optional<GoldenFile>> ParseGolden(std::string_view text, std::string_view name);

/// The file as text; ParseGolden reads it back.
std::string FormatGolden(const GoldenFile& file);

/// What the compiler is given: directives, source and annotations, without the sections.
std::string SourceOf(const GoldenFile& file);

/// Words between spaces; 'single' and "double" quotes hold words together.
std::vector<std::string> SplitWords(std::string_view text);

/// What a command gave.
struct GoldenActual {
  std::string out;
  std::string err;
  std::vector<GoldenSection> files;  ///< the output files that the golden file has sections for
};

/// `file` with the output of the run in place of the expected one: equal text means that the test
/// passes. `name` is the file's name in diagnostics.
GoldenFile WithActual(const GoldenFile& file, const GoldenActual& actual, std::string_view name);

}  // namespace kdl::tools
