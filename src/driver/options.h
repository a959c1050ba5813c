#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"

namespace kdl::driver {

enum class Command : uint8_t {
#define KDL_COMMAND(kind, name, words, most_files, summary, more) kind,
#include "driver/commands.def"
};

struct CommandInfo {
  Command kind;
  std::string_view invocation;  ///< such as `kernelc build`
  std::string_view name;
  std::string_view words;
  int most_files;
  std::string_view summary;
  std::string_view more;
  uint32_t bit;  ///< the command's bit in OptionInfo::commands
};
std::span<const CommandInfo> AllCommands();

enum class Emit : uint8_t {
#define KDL_OUTPUT(kind, word, file, summary) kind,
#include "driver/emits.def"
};

enum class OptionKind : uint8_t { Flag, Text, Number, Texts, Maybe };

struct OptionInfo {
  OptionKind kind;
  std::string_view name;
  char short_name;
  std::string_view value;
  std::string_view default_value;
  uint32_t commands;  ///< bits of the commands that accept the option
  std::string_view help;
  std::string_view golden;
};
std::span<const OptionInfo> AllOptions();

/// Returns what follows the name of an option in a help text: ` VALUE`, or `[=VALUE]` if the value may be omitted.
std::string ValueUsage(const OptionInfo& option);

// The C++ types of option values, one for each OptionKind.
using OptionFlag = bool;
using OptionText = std::string;
using OptionNumber = std::optional<int64_t>;
using OptionTexts = std::vector<std::string>;
using OptionMaybe = std::optional<std::string>;  ///< empty if the option has no value

/// A parsed command line, with a member for each row of options.def.
struct Options {
  Command command = Command::Build;
  std::vector<std::string> files;
#define KDL_OPTION(member, kind, name, short_name, value, default_value, commands, help, golden) \
  Option##kind member{};
#include "driver/options.def"
};

/// Returns the command with this name. If there is none, reports an error that suggests the most
/// similar name, and returns null.
const CommandInfo* ParseCommand(std::string_view word, DiagnosticEngine& diagnostics);

/// Returns the command-line description of a program made with `--emit exe`. The program accepts
/// some options of `kernelc run`. `name` is the program's name.
CommandInfo ProgramCommand(std::string_view name);

/// Parses the arguments after the command. Reports usage errors.
std::optional<Options> ParseOptions(const CommandInfo& command, std::span<const std::string> words,
                                    DiagnosticEngine& diagnostics);

/// Return the text of `kernelc --help` and of `kernelc COMMAND --help`.
std::string HelpText();
std::string HelpText(const CommandInfo& command);

struct ExitCodeInfo {
  int code;
  std::string_view meaning;
};
std::span<const ExitCodeInfo> AllExitCodes();

struct Assignment {
  std::string name;
  std::string value;
};
/// Splits `NAME=VALUE` at the first `=`. Reports an error if the name or the value is missing.
/// `example` shows the correct form.
std::optional<Assignment> SplitAssignment(std::string_view option, std::string_view text,
                                          std::string_view example, DiagnosticEngine& diagnostics);

/// Returns the files in the values of --arg or --out: FILE of each `NAME=@FILE`.
std::vector<std::string> FilesIn(const OptionTexts& assignments);

/// Splits a list at commas.
std::vector<std::string_view> SplitList(std::string_view text);

/// The outputs that --emit requests, without duplicates, in table order. If nothing is requested,
/// contains the default output.
struct Emits {
  std::vector<Emit> kinds;
  std::vector<std::string_view> texts;  ///< names of the text formats that devices load

  bool Has(Emit emit) const { return std::ranges::find(kinds, emit) != kinds.end(); }
  bool HasOnly(Emit emit) const { return kinds.size() == 1 && kinds[0] == emit && texts.empty(); }
};
std::optional<Emits> ParseEmits(const Options& options, std::span<const std::string_view> texts,
                                DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
