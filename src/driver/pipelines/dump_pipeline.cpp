#include "driver/pipelines/dump_pipeline.h"

#include <fmt/format.h>

#include <iterator>

#include "driver/pipelines/pipeline_file.h"

namespace kdl::driver {

namespace {

/// Explains the properties of the target that values of options may use.
std::string VariablesText(const targets::Target& target) {
  std::string text;
  if (!target.family->traits) return text;
  for (const targets::Trait& trait : target.family->traits(*target.facts)) {
    if (!trait.variable.empty())
      text += fmt::format("#   ${:<18} {:>8}  {}\n", trait.variable, trait.number, trait.name);
  }
  if (text.empty()) return text;
  return fmt::format("# Variables, with their values for {}:\n{}", target.facts->level, text);
}

std::string PassLines(const passes::Pass& pass) {
  std::string text = fmt::format("  - {}", pass.name);
  if (pass.options.begin() == pass.options.end()) return text + '\n';
  text += ":\n";
  for (const passes::PassOption* option : pass.options) {
    text += fmt::format("      # {}, {} to {}\n      {}: {}\n", option->summary, option->least,
                        option->most, option->name, option->value);
  }
  return text;
}

}  // namespace

std::string DumpPipeline(const targets::Target& target) {
  std::string text =
      "# The passes that lower kernels, in the order in which they run. `kernelc explain passes` "
      "says what\n"
      "# each does. `kernelc build --pipeline FILE` reads this file.\n";
  text += VariablesText(target);
  fmt::format_to(std::back_inserter(text), "family: {}\n", target.family->name);
  StageLists lists = ListsOf(*target.family);
  for (size_t i = 0; i < lists.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}:\n", passes::kStageLists[i]);
    for (const passes::Pass* pass : lists[i]) text += PassLines(*pass);
  }
  return text;
}

}  // namespace kdl::driver
