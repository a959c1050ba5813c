#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "driver/options.h"
#include "tools/pages.h"

namespace kdl::tools {

namespace {

std::string OptionsOf(const driver::CommandInfo& command) {
  std::vector<std::string> words;
  for (const driver::OptionInfo& option : driver::AllOptions()) {
    if ((option.commands & command.bit) != 0) words.push_back(fmt::format("--{}", option.name));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

std::string BashCompletion() {
  std::vector<std::string_view> commands;
  std::string cases;
  for (const driver::CommandInfo& command : driver::AllCommands()) {
    commands.push_back(command.name);
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command.name, OptionsOf(command));
  }
  return fmt::format(
      "# Completes command lines of kernelc in bash. Written by `kernelc explain completion`.\n"
      "_kernelc() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} words=\n"
      "  case ${{COMP_WORDS[1]}} in\n"
      "{}"
      "  esac\n"
      "  [ \"$COMP_CWORD\" != 1 ] || words=\"{} --help --version\"\n"
      "  # Words that are not options are files, which bash completes itself.\n"
      "  case $COMP_CWORD:$word in 1:* | *:-*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) "
      ";; esac\n"
      "}}\n"
      "complete -o default -F _kernelc kernelc\n",
      cases, fmt::join(commands, " "));
}

}  // namespace kdl::tools
