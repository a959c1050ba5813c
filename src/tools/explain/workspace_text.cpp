#include <fmt/format.h>

#include <algorithm>

#include "tools/explain/workspace_map.h"

namespace kdl::tools {

namespace {

size_t WidestName(const KernelMap& kernel) {
  size_t width = 4;
  for (const PipeMap& pipe : kernel.pipes) width = std::max(width, pipe.name.size());
  return width;
}

std::string KernelText(const KernelMap& kernel) {
  std::string text =
      fmt::format("\nkernel {} ({})\n", kernel.kernel, fmt::join(kernel.targets, ", "));
  if (!kernel.shared.empty())
    text += "  shared by the cores of a launch, separate for each launch:\n";
  for (const SharedTensor& tensor : kernel.shared)
    text += fmt::format("    {}  {}\n", tensor.name, tensor.type);
  if (kernel.pipes.empty()) return text + fmt::format("  {}\n", kNoPipesInMemory);
  size_t width = WidestName(kernel);
  size_t tiles = 4;
  for (const PipeMap& pipe : kernel.pipes) tiles = std::max(tiles, pipe.tile.size());
  text += fmt::format("  {:<{}}  {:<{}}  {:>5}  {:>10}  {:>10}  from -> to\n", "pipe", width,
                      "tile", tiles, "depth", "slot bytes", "bytes");
  for (const PipeMap& pipe : kernel.pipes) {
    text += fmt::format("  {:<{}}  {:<{}}  {:>5}  {:>10}  {:>10}  {} -> {}\n", pipe.name, width,
                        pipe.tile, tiles, pipe.ring.depth, pipe.ring.slot, pipe.ring.bytes(),
                        pipe.from, pipe.to);
  }
  text += fmt::format("  a slice, {} bytes:\n", kernel.footprint);
  for (const AddressRange& range : kernel.ranges)
    text += fmt::format("  {:>10} .. {:>10}  {}\n", range.begin, range.end, range.what);
  return text;
}

std::string LaunchText(const LaunchMap& launch, bool is_first) {
  std::string text =
      fmt::format("    {}{}{}: {} * {} bytes", launch.place, launch.place.empty() ? "" : "  ",
                  launch.kernel, launch.instances, launch.footprint);
  if (launch.at_most) text += fmt::format(", at most {}", *launch.at_most);
  if (!is_first) text += "; reuses it after the previous launch";
  if (launch.in_loop) text += "; in a loop: allocates when the size grows, otherwise reuses it";
  return text + "\n";
}

std::string ProgramText(const ProgramMap& program) {
  std::string text = fmt::format("\nprogram {}\n", program.name);
  for (const WorkspaceMap& workspace : program.workspaces) {
    text += fmt::format("  workspace \"{}\" of {}, queue {}\n", workspace.name, workspace.device,
                        workspace.queue);
    for (const LaunchMap& launch : workspace.launches)
      text += LaunchText(launch, &launch == &workspace.launches.front());
  }
  if (program.workspaces.size() > 1)
    text += "  Launches on different queues may overlap, so each queue has its own workspace.\n";
  if (!program.others.empty()) text += "  launches without a workspace\n";
  for (const LaunchMap& launch : program.others) {
    text +=
        fmt::format("    {}{}{}\n", launch.place, launch.place.empty() ? "" : "  ", launch.kernel);
  }
  return text;
}

}  // namespace

std::string ReportText(const WorkspaceReport& report) {
  std::string text = fmt::format("workspaces of {}\n", report.file);
  for (const KernelMap& kernel : report.kernels) text += KernelText(kernel);
  for (const ProgramMap& program : report.programs) text += ProgramText(program);
  return text;
}

}  // namespace kdl::tools
