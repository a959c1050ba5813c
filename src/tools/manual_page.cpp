#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "driver/options.h"
#include "driver/warnings.h"
#include "kdl/version.h"
#include "tools/pages.h"

namespace kdl::tools {

namespace {

/// Escapes text for man, which interprets `\` as an escape character and prints a plain dash as a
/// hyphen.
std::string RoffOf(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '\\' || c == '-') escaped += '\\';
    escaped += c == '\\' ? 'e' : c;
    // The escape keeps a dot at the start of the next line from beginning a macro.
    if (c == '\n') escaped += "\\&";
  }
  return escaped;
}

std::string Section(std::string_view title) { return fmt::format(".SH {}\n", title); }

/// Formats a term in bold, with its explanation below it.
std::string Entry(std::string_view term, std::string_view text) {
  return fmt::format(".TP\n.B {}\n\\&{}\n", RoffOf(term), RoffOf(text));
}

std::string OptionTerm(const driver::OptionInfo& option) {
  std::string term;
  if (option.short_name != 0) term = fmt::format("-{}, ", option.short_name);
  term += fmt::format("--{}", option.name);
  return term + driver::ValueUsage(option);
}

std::string OptionText(const driver::OptionInfo& option) {
  std::vector<std::string_view> commands;
  for (const driver::CommandInfo& command : driver::AllCommands()) {
    if ((option.commands & command.bit) != 0) commands.push_back(command.name);
  }
  std::string text =
      fmt::format("{}: {}", fmt::join(commands, ", "), driver::WithWarningGroups(option.help));
  if (!option.default_value.empty()) text += fmt::format(" (default: {})", option.default_value);
  return text;
}

}  // namespace

std::string ManualPage() {
  std::string page = fmt::format(".TH KERNELC 1 \"\" \"kernelc {}\"\n", KDL_VERSION);
  page += Section("NAME") + "kernelc \\- a compiler for tiled SPMD kernels\n";
  page += Section("SYNOPSIS") + ".B kernelc\n.I COMMAND\n[options]\n";
  page += Section("COMMANDS");
  for (const driver::CommandInfo& command : driver::AllCommands()) {
    std::string text = std::string(command.summary) + ".";
    if (!command.more.empty()) text += fmt::format("\n{}", command.more);
    page += Entry(fmt::format("{} {}", command.name, command.words), text);
  }
  page += Section("OPTIONS") + "Each option with the commands that accept it.\n";
  for (const driver::OptionInfo& option : driver::AllOptions()) {
    page += Entry(OptionTerm(option), OptionText(option));
  }
  page += Section("EXIT STATUS");
  for (const driver::ExitCodeInfo& code : driver::AllExitCodes()) {
    page += Entry(fmt::format("{}", code.code), code.meaning);
  }
  return page;
}

}  // namespace kdl::tools
