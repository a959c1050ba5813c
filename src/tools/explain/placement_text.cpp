#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/explain/placement_map.h"

namespace kdl::tools {

namespace {

std::string StepText(const PlacedStep& step) {
  std::string indent(2 * step.depth, ' ');
  if (step.kind == StepKind::Region) return fmt::format("       {}{}", indent, step.text);
  std::string queue = step.queue == 0 ? "" : fmt::format(".queue({})", step.queue);
  std::string text = fmt::format("  {:>3}  {}{}", step.number, indent, step.text);
  if (step.kind != StepKind::Move) text += fmt::format(" on {}{}", step.device, queue);
  if (!step.after.empty()) text += fmt::format(", after {}", fmt::join(step.after, ", "));
  return text;
}

std::string ProgramText(const PlacedProgram& program) {
  std::string text = fmt::format("\nprogram {}\n", program.name);
  for (const PlacedTensor& tensor : program.tensors)
    text += fmt::format("  {} {}\n", tensor.name, tensor.owner);
  std::vector<std::string> lines;
  size_t width = 0;
  size_t moves = 0;
  size_t events = 0;
  for (const PlacedStep& step : program.steps) {
    lines.push_back(StepText(step));
    width = std::max(width, lines.back().size());
    moves += step.kind == StepKind::Move ? 1 : 0;
    events += step.after.size();
  }
  for (size_t i = 0; i < lines.size(); ++i)
    text += fmt::format("{:<{}}  {}\n", lines[i], width, program.steps[i].place);
  return text + fmt::format("  moves: {}; waits of one queue for another: {}\n", moves, events);
}

}  // namespace

std::string ReportText(const PlacementReport& report) {
  std::string text = fmt::format("placement in {}\n", report.file);
  if (report.programs.empty()) text += "\nno programs\n";
  for (const PlacedProgram& program : report.programs) text += ProgramText(program);
  return text;
}

}  // namespace kdl::tools
