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
  std::string_view invocation;  ///< `kernelc build`
  std::string_view name;
  std::string_view words;
  int most_files;
  std::string_view summary;
  std::string_view more;
  uint32_t bit;  ///< in OptionInfo::commands
};
std::span<const CommandInfo> AllCommands();

enum class Emit : uint8_t {
#define KDL_OUTPUT(kind, word, file, summary) kind,
#include "driver/emits.def"
};

enum class OptionKind : uint8_t { Flag, Text, Number, Texts };

struct OptionInfo {
  OptionKind kind;
  std::string_view name;
  char short_name;
  std::string_view value;
  std::string_view default_value;
  uint32_t commands;  ///< the bits of the commands that take it
  std::string_view help;
  std::string_view golden;
};
std::span<const OptionInfo> AllOptions();

// The C++ type of an option's value.
using OptionFlag = bool;
using OptionText = std::string;
using OptionNumber = std::optional<int64_t>;
using OptionTexts = std::vector<std::string>;

/// A command line: one member for each row of options.def.
struct Options {
  Command command = Command::Build;
  std::vector<std::string> files;
#define KDL_OPTION(member, kind, name, short_name, value, default_value, commands, help, golden) \
  Option##kind member{};
#include "driver/options.def"
};

/// The command of this name. An unknown one is reported, with what it was probably meant to be; null then.
const CommandInfo* ParseCommand(std::string_view word, DiagnosticEngine& diagnostics);

/// What a program of `--emit exe` takes, which is called by this name: a part of `kernelc run`.
CommandInfo ProgramCommand(std::string_view name);

/// The options of a command line after the command. Usage errors are reported.
std::optional<Options> ParseOptions(const CommandInfo& command, std::span<const std::string> words,
                                    DiagnosticEngine& diagnostics);

/// The text of `kernelc --help` and of `kernelc COMMAND --help`.
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
/// `NAME=VALUE`, split at the first `=`; reported where a part is missing. `example` shows how it
/// is written.
std::optional<Assignment> SplitAssignment(std::string_view option, std::string_view text,
                                          std::string_view example, DiagnosticEngine& diagnostics);

/// The parts between commas.
std::vector<std::string_view> SplitList(std::string_view text);

/// What --emit asks for, in the tables' order, each once; the default where nothing is asked for.
struct Emits {
  std::vector<Emit> kinds;
  std::vector<std::string_view> texts;  ///< of those that devices load

  bool Has(Emit emit) const { return std::ranges::find(kinds, emit) != kinds.end(); }
  bool HasOnly(Emit emit) const { return kinds.size() == 1 && kinds[0] == emit && texts.empty(); }
};
std::optional<Emits> ParseEmits(const Options& options, std::span<const std::string_view> texts,
                                DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
