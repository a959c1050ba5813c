#include "driver/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <charconv>
#include <iterator>

#include "driver/diagnostics.h"
#include "driver/warnings.h"
#include "support/near_names.h"

namespace kdl::driver {

namespace {

namespace po = boost::program_options;

constexpr CommandInfo kCommands[] = {
#define KDL_COMMAND(kind, name, words, most_files, summary, more) \
  {Command::kind, "kernelc " name, name, words,                   \
   most_files,    summary,         more, 1u << static_cast<int>(Command::kind)},
#include "driver/commands.def"
};

#define KDL_COMMAND(kind, ...) constexpr uint32_t k##kind = 1u << static_cast<int>(Command::kind);
#include "driver/commands.def"
constexpr uint32_t kAllCommands = ~0u;
constexpr uint32_t kProgram = 1u << std::size(kCommands);

constexpr OptionInfo kOptions[] = {
#define KDL_OPTION(member, kind, name, short_name, value, default_value, commands, help, golden) \
  {OptionKind::kind, name, short_name, value, default_value, commands, help, golden},
#include "driver/options.def"
};

constexpr const char* kFileKey = "file";
/// The value that stands for none, for Boost, which would otherwise take the next word as the value.
constexpr std::string_view kNoValue = "-";
constexpr int64_t kMostJobs = 1024;

struct EmitInfo {
  Emit kind;
  std::string_view word;
  std::string_view file;
  std::string_view summary;
};
constexpr EmitInfo kEmits[] = {
#define KDL_OUTPUT(kind, word, file, summary) {Emit::kind, word, file, summary},
#include "driver/emits.def"
};

bool Takes(const CommandInfo& command, const OptionInfo& option) {
  return (option.commands & command.bit) != 0;
}

/// Returns the option as the user writes it, such as `--opt-level`.
std::string Dashed(const OptionInfo& option) { return fmt::format("--{}", option.name); }

// -- Parsing ------------------------------------------------------------------------------------

const OptionInfo* FindOption(std::string_view dashed) {
  size_t start = dashed.find_first_not_of('-');
  std::string_view name = dashed.substr(start == std::string_view::npos ? dashed.size() : start);
  for (const OptionInfo& option : kOptions) {
    if (option.name == name || (name.size() == 1 && option.short_name == name[0])) return &option;
  }
  return nullptr;
}

void ReportUnknown(const CommandInfo& command, std::string_view written,
                   DiagnosticEngine& diagnostics) {
  std::string_view word = written.substr(0, written.find('='));
  Diagnostic& report = diagnostics.Report(diag::UnknownOption, {}, command.invocation, word);
  if (const OptionInfo* elsewhere = FindOption(word)) {
    std::vector<std::string_view> commands;
    for (const CommandInfo& other : kCommands) {
      if (Takes(other, *elsewhere)) commands.push_back(other.name);
    }
    report.Help(fmt::format("'{}' belongs to {}", Dashed(*elsewhere), QuotedList(commands)));
    return;
  }
  std::vector<std::string> dashed;
  for (const OptionInfo& option : kOptions) {
    if (Takes(command, option)) dashed.push_back(Dashed(option));
  }
  std::vector<std::string_view> candidates(dashed.begin(), dashed.end());
  std::string_view near = NearestName(word, candidates);
  report.Help(near.empty() ? fmt::format("`{} --help` lists the options", command.invocation)
                           : fmt::format("did you mean '{}'?", near));
}

/// Each overload of Read converts the text of an option to the C++ type of its kind, and reports
/// errors.
bool Read(const OptionInfo&, std::string_view, OptionFlag& to, DiagnosticEngine&) {
  return to = true;
}

bool Read(const OptionInfo& option, std::string_view text, OptionText& to,
          DiagnosticEngine& diagnostics) {
  if (!to.empty() && to != option.default_value) {
    diagnostics.Report(diag::OptionTwice, {}, Dashed(option));
    return false;
  }
  if (text.empty()) {  // such as `-o "$FOLDER"`, if the variable is not set
    diagnostics.Report(diag::OptionNeedsValue, {}, Dashed(option), option.value);
    return false;
  }
  to = text;
  return true;
}

bool Read(const OptionInfo& option, std::string_view text, OptionNumber& to,
          DiagnosticEngine& diagnostics) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    diagnostics.Report(diag::BadOptionValue, {}, Dashed(option), text, "a whole number");
    return false;
  }
  to = value;
  return true;
}

bool Read(const OptionInfo&, std::string_view text, OptionTexts& to, DiagnosticEngine&) {
  to.emplace_back(text);
  return true;
}

bool Read(const OptionInfo& option, std::string_view text, OptionMaybe& to,
          DiagnosticEngine& diagnostics) {
  if (to) {
    diagnostics.Report(diag::OptionTwice, {}, Dashed(option));
    return false;
  }
  to = text == kNoValue ? "" : text;
  return true;
}

/// Sets each member to its default.
void SetDefaults(Options& options, DiagnosticEngine& diagnostics) {
  size_t row = 0;
#define KDL_OPTION(member, kind, name, short_name, value, default_value, commands, help, golden) \
  if (std::string_view(default_value).size() != 0) {                                             \
    Read(kOptions[row], default_value, options.member, diagnostics);                             \
  }                                                                                              \
  ++row;
#include "driver/options.def"
}

bool Set(Options& options, std::string_view key, std::string_view text,
         DiagnosticEngine& diagnostics) {
  size_t row = 0;
#define KDL_OPTION(member, kind, name, short_name, value, default_value, commands, help, golden) \
  if (key == name) return Read(kOptions[row], text, options.member, diagnostics);                \
  ++row;
#include "driver/options.def"
  return false;
}

po::options_description Describe(const CommandInfo& command) {
  po::options_description all;
  for (const OptionInfo& option : kOptions) {
    if (!Takes(command, option)) continue;
    std::string spelling(option.name);
    if (option.short_name != 0) spelling += fmt::format(",{}", option.short_name);
    if (option.kind == OptionKind::Flag) {
      all.add_options()(spelling.c_str(), "");
    } else {
      all.add_options()(spelling.c_str(), po::value<std::string>());
    }
  }
  all.add_options()(kFileKey, po::value<std::string>());
  return all;
}

/// Reports a syntax error that Boost found in an option.
void ReportSyntax(const CommandInfo& command, const po::error_with_option_name& error,
                  DiagnosticEngine& diagnostics) {
  std::string written = error.get_option_name();
  const OptionInfo* option = FindOption(written);
  if (option == nullptr) {
    diagnostics.Report(diag::UnknownOption, {}, command.invocation, written);
  } else if (option->kind == OptionKind::Flag) {
    diagnostics.Report(diag::OptionTakesNoValue, {}, Dashed(*option));
  } else {
    diagnostics.Report(diag::OptionNeedsValue, {}, Dashed(*option), option->value);
  }
}

/// Writes `--name` as `--name=-` if the option's value may be omitted.
std::vector<std::string> WithValues(const CommandInfo& command, std::vector<std::string> words) {
  for (std::string& word : words) {
    if (word == "--") break;
    for (const OptionInfo& option : kOptions) {
      if (option.kind == OptionKind::Maybe && Takes(command, option) && word == Dashed(option))
        word += fmt::format("={}", kNoValue);
    }
  }
  return words;
}

/// Splits the arguments into options and files. Returns nothing if the syntax is wrong.
std::optional<std::vector<po::option>> Split(const CommandInfo& command,
                                             const std::vector<std::string>& words,
                                             DiagnosticEngine& diagnostics) {
  po::options_description known = Describe(command);
  po::positional_options_description positions;
  positions.add(kFileKey, -1);
  int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  try {
    return po::command_line_parser(WithValues(command, words))
        .options(known)
        .positional(positions)
        .style(style)
        .allow_unregistered()
        .run()
        .options;
  } catch (const po::error_with_option_name& error) {
    ReportSyntax(command, error, diagnostics);
  } catch (const po::error& error) {
    diagnostics.Report(diag::UnknownOption, {}, command.invocation, error.what());
  }
  return std::nullopt;
}

/// Whether `explain` is asked for a report on a file rather than for a topic.
bool IsReport(const Options& options) {
  return options.workspace || options.placement || options.communication || options.copies ||
         options.tiles || options.schedule || options.perf || options.assembly || options.trace;
}

void CheckFiles(const CommandInfo& info, const Options& options, DiagnosticEngine& diagnostics) {
  size_t most = info.most_files < 0 ? options.files.size() : static_cast<size_t>(info.most_files);
  if (options.all || !options.suite.empty()) most = 0;
  bool optional = (info.words.empty() || info.words.front() == '[') && !IsReport(options);
  optional = optional || !options.suite.empty();
  if (options.files.size() > most) {
    diagnostics.Report(diag::TooManyFiles, {}, info.invocation, options.files[most]);
  } else if (options.files.empty() && !optional && !options.help) {
    std::string_view what = info.most_files < 0 ? "a file or folder" : "a .kdl or .kir file";
    if (info.kind == Command::New) what = "the name of a project";
    if (options.trace) what = "the file of a trace";
    diagnostics.Report(diag::FileMissing, {}, info.invocation, what)
        .Help(fmt::format("{} {}", info.invocation, info.words));
  }
}

/// Checks the options of `explain`. Explaining a topic compiles nothing, so compiler options are
/// allowed only in a report on a file.
void CheckExplain(const std::vector<po::option>& given, const Options& options,
                  DiagnosticEngine& diagnostics) {
  bool is_report = IsReport(options);
  if (options.command != Command::Explain || options.help) return;
  bool selects = options.tiles || options.schedule || options.perf || options.assembly;
  if (is_report && !selects && !options.kernel.empty())
    diagnostics.Report(diag::OptionNeedsOption, {}, "--kernel", "--tiles");
  if (is_report && !options.trace && options.times.empty() && !options.plot.empty())
    diagnostics.Report(diag::OptionNeedsOption, {}, "--plot", "--trace or --times");
  if ((options.tiles || options.schedule || options.copies || options.trace) &&
      !options.html.empty())
    diagnostics.Report(diag::OptionNeedsOption, {}, "--html",
                       "--workspace, --placement, --communication, --perf or --asm");
  constexpr std::string_view kOnlyCommunication[] = {"program", "set",   "arg",
                                                     "ranks",   "times", "iterations"};
  for (const po::option& option : given) {
    const OptionInfo* info = FindOption(option.string_key);
    if (info == nullptr || info->commands == kAllCommands || info->name == "all") continue;
    if (options.schedule && info->name == "set") continue;  // chooses among schedules
    if (std::ranges::find(kOnlyCommunication, info->name) != std::end(kOnlyCommunication)) {
      if (!options.communication)
        diagnostics.Report(diag::OptionNeedsOption, {}, Dashed(*info), "--communication");
      continue;
    }
    if (is_report) continue;
    std::string_view file = options.files.empty() ? "FILE" : std::string_view(options.files[0]);
    std::string value = info->value.empty() || option.value.empty() ? "" : " " + option.value[0];
    diagnostics.Report(diag::OptionNeedsOption, {}, Dashed(*info), "--workspace")
        .Help(fmt::format("kernelc explain --workspace {} {}{}", file, Dashed(*info), value));
  }
}

/// Whether the string can be part of file names, namespaces and symbols. An empty string is valid:
/// it means that no name is given.
bool IsName(std::string_view text) {
  auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  auto fits = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return text.empty() || (is_letter(text.front()) && std::ranges::all_of(text, fits));
}

/// Checks the options that only have a meaning for a suite, or none for it.
void CheckSuite(const std::vector<po::option>& given, const Options& options,
                DiagnosticEngine& diagnostics) {
  constexpr std::string_view kOnlySuite[] = {"shard", "resume"};
  constexpr std::string_view kOnlySuiteOfBench[] = {"filter", "seed"};
  constexpr std::string_view kNeverSuite[] = {"program", "kernel",    "set",      "arg",   "out",
                                              "against", "contracts", "coverage", "update"};
  bool is_bench = options.command == Command::Bench;
  if (!is_bench && options.command != Command::Test) return;
  for (const po::option& option : given) {
    const OptionInfo* info = FindOption(option.string_key);
    if (info == nullptr) continue;
    auto is_in = [&](std::span<const std::string_view> names) {
      return std::ranges::find(names, info->name) != names.end();
    };
    bool only = is_in(kOnlySuite) || (is_bench && is_in(kOnlySuiteOfBench));
    if (options.suite.empty() && only)
      diagnostics.Report(diag::OptionNeedsOption, {}, Dashed(*info), "--suite");
    if (!options.suite.empty() && is_in(kNeverSuite))
      diagnostics.Report(diag::NotForSuite, {}, Dashed(*info))
          .Help("the file of --suite says what its problems run, and with which arguments");
  }
}

void CheckValues(const Options& options, DiagnosticEngine& diagnostics) {
  if (options.pipes != "auto" && options.pipes != "buffered" && options.pipes != "fused") {
    diagnostics.Report(diag::BadOptionValue, {}, "--pipes", options.pipes,
                       "buffered, fused or auto");
  }
  if (!options.remarks.empty() && options.remarks != "perf")
    diagnostics.Report(diag::BadOptionValue, {}, "--remarks", options.remarks, "perf");
  if (!options.sanitize.empty() && options.sanitize != "address")
    diagnostics.Report(diag::BadOptionValue, {}, "--sanitize", options.sanitize, "address");
  if (options.profile && !options.profile->empty() && options.profile != "blocks")
    diagnostics.Report(diag::BadOptionValue, {}, "--profile", *options.profile, "blocks");
  if (options.command == Command::Run && !options.plot.empty() && !options.profile)
    diagnostics.Report(diag::OptionNeedsOption, {}, "--plot", "--profile");
  DiagnosticEngine any;
  SetWarnings(options.warnings, any, diagnostics);
  if (!IsName(options.module)) {
    diagnostics.Report(diag::BadOptionValue, {}, "--module", options.module,
                       "a name of letters, digits and `_` that begins with a letter");
  }
  if (options.output == "-") {
    diagnostics.Report(diag::BadOptionValue, {}, "--output", options.output, "the name of a folder")
        .Help("use --emit ir without --output to write to standard output");
  }
  if (options.opt_level && (*options.opt_level < 0 || *options.opt_level > 3)) {
    diagnostics.Report(diag::BadOptionValue, {}, "--opt-level", fmt::to_string(*options.opt_level),
                       "0, 1, 2 or 3");
  }
  if (options.jobs && (*options.jobs < 1 || *options.jobs > kMostJobs)) {
    diagnostics.Report(diag::BadOptionValue, {}, "--jobs", fmt::to_string(*options.jobs),
                       fmt::format("1 to {}", kMostJobs));
  }
  if (options.seed && *options.seed < 0) {
    diagnostics.Report(diag::BadOptionValue, {}, "--seed", fmt::to_string(*options.seed),
                       "a whole number of at least 0");
  }
  if (options.core_num && *options.core_num < 1)
    diagnostics.Report(diag::BadCoreNum, {}, *options.core_num)
        .Help("give a number of cores, for example --core-num 1");
}

// -- Help -----------------------------------------------------------------------------------------

/// Formats two columns. The second column is wrapped between words.
std::string Columns(std::string_view first, std::string_view second) {
  constexpr size_t kIndent = 30;
  constexpr size_t kWidth = 100;
  std::string text = fmt::format("  {:<{}}", first, kIndent - 2);
  if (first.size() > kIndent - 3) text += fmt::format("\n{:{}}", "", kIndent);
  size_t column = kIndent;
  while (!second.empty()) {
    size_t space = second.find(' ');
    std::string_view word = second.substr(0, space);
    second.remove_prefix(space == std::string_view::npos ? second.size() : space + 1);
    bool fits = column + 1 + word.size() <= kWidth;
    if (column > kIndent) text += fits ? std::string(" ") : fmt::format("\n{:{}}", "", kIndent);
    column = (column > kIndent && fits ? column + 1 : kIndent) + word.size();
    text += word;
  }
  return text + "\n";
}

constexpr std::string_view kWith = "with --";

/// Returns whether a part of a help text is about this command if these words are before its colon: the name of a command, or
/// `with --suite`. Returns nothing for any other words.
std::optional<bool> IsAbout(std::string_view words, const CommandInfo& command) {
  if (words.starts_with(kWith)) {
    const OptionInfo* option = FindOption(words.substr(kWith.size()));
    return option ? std::optional(Takes(command, *option)) : std::nullopt;
  }
  auto about = std::ranges::find(kCommands, words, &CommandInfo::name);
  if (about == std::end(kCommands)) return std::nullopt;
  return about->kind == command.kind;
}

/// Returns what an option does for one command. Its help may have parts for some commands: `…; bench: …; with --suite: …`.
std::string HelpFor(const CommandInfo& command, std::string_view help) {
  std::string text;
  while (!help.empty()) {
    std::string_view part = help.substr(0, help.find("; "));
    help.remove_prefix(std::min(help.size(), part.size() + 2));
    size_t colon = std::min(part.find(": "), part.size());
    std::optional<bool> is_about = IsAbout(part.substr(0, colon), command);
    if (is_about == false) continue;
    if (is_about && !part.starts_with(kWith)) part.remove_prefix(colon + 2);
    text += fmt::format("{}{}", text.empty() ? "" : "; ", part);
  }
  return text;
}

std::string Usage(const OptionInfo& option) {
  std::string text = option.short_name != 0
                         ? fmt::format("-{}, --{}", option.short_name, option.name)
                         : fmt::format("    --{}", option.name);
  return text + ValueUsage(option);
}

}  // namespace

std::string ValueUsage(const OptionInfo& option) {
  if (option.kind == OptionKind::Maybe) return fmt::format("[={}]", option.value);
  return option.value.empty() ? "" : fmt::format(" {}", option.value);
}

std::span<const CommandInfo> AllCommands() { return kCommands; }
std::span<const OptionInfo> AllOptions() { return kOptions; }

CommandInfo ProgramCommand(std::string_view name) {
  return {Command::Run, name,    name, "", 0, "runs the program that this executable contains",
          "",           kProgram};
}

const CommandInfo* ParseCommand(std::string_view word, DiagnosticEngine& diagnostics) {
  std::vector<std::string_view> names;
  for (const CommandInfo& info : kCommands) {
    if (info.name == word) return &info;
    names.push_back(info.name);
  }
  std::string_view near = NearestName(word, names);
  diagnostics.Report(diag::UnknownCommand, {}, word)
      .Help(near.empty() ? fmt::format("the commands are {}", QuotedList(names))
                         : fmt::format("did you mean 'kernelc {}'?", near));
  return nullptr;
}

std::optional<Options> ParseOptions(const CommandInfo& command, std::span<const std::string> words,
                                    DiagnosticEngine& diagnostics) {
  size_t errors_before = diagnostics.error_count();
  Options options;
  options.command = command.kind;
  SetDefaults(options, diagnostics);
  auto split = Split(command, {words.begin(), words.end()}, diagnostics);
  if (!split) return std::nullopt;
  for (const po::option& option : *split) {
    if (option.unregistered) {
      ReportUnknown(command,
                    option.original_tokens.empty() ? option.string_key : option.original_tokens[0],
                    diagnostics);
    } else if (option.string_key == kFileKey) {
      options.files.insert(options.files.end(), option.value.begin(), option.value.end());
    } else {
      Set(options, option.string_key, option.value.empty() ? std::string_view() : option.value[0],
          diagnostics);
    }
  }
  if (diagnostics.error_count() == errors_before) {
    CheckFiles(command, options, diagnostics);
    CheckExplain(*split, options, diagnostics);
    CheckSuite(*split, options, diagnostics);
    CheckValues(options, diagnostics);
  }
  return diagnostics.error_count() == errors_before ? std::optional(std::move(options))
                                                    : std::nullopt;
}

std::string HelpText() {
  std::string text = "usage: kernelc COMMAND ...\n\nA compiler for tiled SPMD kernels.\n\n";
  for (const CommandInfo& info : kCommands) {
    text += Columns(fmt::format("{} {}", info.name, info.words), info.summary);
  }
  text += "\n" + Columns("-h, --help", "prints this help, or the help of a command");
  text += Columns("    --version", "prints the version and the kinds of targets");
  text += "\nExit codes:\n";
  for (const ExitCodeInfo& info : AllExitCodes())
    text += fmt::format("  {:>2}  {}\n", info.code, info.meaning);
  return text;
}

std::span<const ExitCodeInfo> AllExitCodes() {
  static constexpr ExitCodeInfo kCodes[] = {
      {kExitDone, "done"},
      {kExitInput, "error in the input"},
      {kExitUsage, "error in the command line"},
      {kExitEnvironment, "failure of the machine or a device"},
      {70, "bug in kernelc"}};
  return kCodes;
}

std::string HelpText(const CommandInfo& info) {
  std::string text = fmt::format("usage: {} {}{}[options]\n\n{}\n", info.invocation, info.words,
                                 info.words.empty() ? "" : " ", info.summary);
  if (!info.more.empty()) text += fmt::format("{}\n", info.more);
  text += "\n";
  for (const OptionInfo& option : kOptions) {
    if (!Takes(info, option)) continue;
    std::string help = HelpFor(info, WithWarningGroups(option.help));
    if (!option.default_value.empty()) help += fmt::format(" (default: {})", option.default_value);
    text += Columns(Usage(option), help);
  }
  return text;
}

std::optional<Assignment> SplitAssignment(std::string_view option, std::string_view text,
                                          std::string_view example, DiagnosticEngine& diagnostics) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    diagnostics.Report(diag::NotAssignment, {}, option, text)
        .Help(fmt::format("for example: {}", example));
    return std::nullopt;
  }
  return Assignment{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::optional<Emits> ParseEmits(const Options& options, std::span<const std::string_view> texts,
                                DiagnosticEngine& diagnostics) {
  if (options.emit.empty()) return Emits{{Emit::Header, Emit::C, Emit::Orch, Emit::Obj}, {}};
  std::vector<std::string_view> words;
  for (const EmitInfo& info : kEmits) words.push_back(info.word);
  words.insert(words.end(), texts.begin(), texts.end());
  std::vector<bool> wanted(words.size(), false);
  for (const std::string& list : options.emit) {
    for (std::string_view word : SplitList(list)) {
      auto found = std::find(words.begin(), words.end(), word);
      if (found == words.end()) {
        diagnostics.Report(diag::BadOptionValue, {}, "--emit", word, QuotedList(words, "or"));
        return std::nullopt;
      }
      wanted[static_cast<size_t>(found - words.begin())] = true;
    }
  }
  Emits emits;
  for (const EmitInfo& info : kEmits) {
    if (wanted[static_cast<size_t>(info.kind)]) emits.kinds.push_back(info.kind);
  }
  for (size_t i = std::size(kEmits); i < words.size(); ++i) {
    if (wanted[i]) emits.texts.push_back(words[i]);
  }
  return emits;
}

std::vector<std::string> FilesIn(const OptionTexts& assignments) {
  constexpr std::string_view kFile = "=@";
  std::vector<std::string> files;
  for (const std::string& text : assignments) {
    size_t equals = text.find('=');
    if (equals != std::string::npos && text.compare(equals, kFile.size(), kFile) == 0)
      files.push_back(text.substr(equals + kFile.size()));
  }
  return files;
}

std::vector<std::string_view> SplitList(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace kdl::driver
