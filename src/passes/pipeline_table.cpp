#include <fmt/format.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "passes/pipeline_text.h"

// A program of the build: turns the pipeline file of a family into C++ arrays of its passes. The arrays are
// checked where they are included, when kernelc is compiled (see FindUnmet).
//
//   pipeline_table FILE.yaml OUTPUT.inc

namespace {

using namespace kdl;

constexpr std::string_view kArrays[] = {"kTilePipeline", "kPipePipeline", "kLoopPipeline"};

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return Failure{fmt::format("cannot read {}", path)};
  return text.str();
}

/// Returns the variable of a pass: kLowerPipes for lower-pipes.
std::string VariableOf(std::string_view pass) {
  std::string variable = "k";
  bool upper = true;
  for (char c : pass) {
    if (c != '-')
      variable += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '-';
  }
  return variable;
}

std::string TableText(const passes::PipelineText& pipeline) {
  std::string text = fmt::format("// The passes of {}.\n", pipeline.files[0]);
  for (size_t i = 0; i < pipeline.lists.size(); ++i) {
    const auto& stages = pipeline.lists[i].value();
    fmt::format_to(std::back_inserter(text),
                   "inline constexpr std::array<const kdl::passes::Pass*, {}> {} = {{\n",
                   stages.size(), kArrays[i]);
    for (const passes::StageText& stage : stages)
      fmt::format_to(std::back_inserter(text), "#line {} \"{}\"\n    &{},\n", stage.at.line,
                     pipeline.files[stage.at.file], VariableOf(stage.pass));
    text += "};\n";
  }
  return text;
}

int Fail(std::string_view path, size_t line, std::string_view message) {
  fmt::print(stderr, "{}:{}: error: {}\n", path, line, message);
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return Fail("pipeline_table", 0, "usage: pipeline_table FILE.yaml OUTPUT.inc");
  passes::PipelineFault fault;
  auto pipeline = passes::ReadPipelineText(words[1], ReadFile, fault);
  if (!pipeline) return Fail(fault.files[fault.at.file], fault.at.line, fault.message);
  for (size_t i = 0; i < pipeline->lists.size(); ++i) {
    if (!pipeline->lists[i])
      return Fail(words[1], 1, fmt::format("the list '{}' is missing", passes::kStageLists[i]));
    for (const passes::StageText& stage : *pipeline->lists[i]) {
      if (!stage.settings.empty())
        return Fail(pipeline->files[stage.at.file], stage.at.line,
                    "the default values of options are stated next to their passes");
    }
  }
  std::ofstream output(words[2], std::ios::binary);
  output << TableText(*pipeline) << std::flush;
  return output ? 0 : Fail(words[2], 0, "cannot write this file");
}
