#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/compile/compile.h"
#include "ir/ring.h"

namespace kdl::tools {

/// The half-open range [begin, end) of bytes in one workspace slice.
struct AddressRange {
  int64_t begin = 0;
  int64_t end = 0;
  size_t pipe = 0;   ///< index in KernelMap::pipes
  std::string what;  ///< such as "q header" or "q slot 0"
};

struct PipeMap {
  std::string name;
  std::string tile;  ///< such as "f32[64, 64]"
  std::string from;
  std::string to;
  ir::Ring ring;
};

/// A tensor that all cores of a launch share.
struct SharedTensor {
  std::string name;
  std::string type;  ///< such as "f32[((N + 15) / 16)]"
  bool operator==(const SharedTensor&) const = default;
};

/// The layout of a kernel's pipes in one workspace slice. It is the same on all of `targets`.
struct KernelMap {
  std::string kernel;
  std::vector<std::string> targets;  ///< such as "x86-64-v3"
  std::vector<PipeMap> pipes;        ///< empty if the kernel has no pipes or all of them are fused
  std::vector<AddressRange> ranges;
  int64_t footprint = 0;
  /// Tensors before the slices, allocated once per launch. Each begins on a cache line.
  std::vector<SharedTensor> shared;
};

struct LaunchMap {
  std::string place;  ///< such as "mlp.kdl:12:5"
  std::string kernel;
  std::string instances;  ///< such as "min(M / 64, cores that host runs at once)"
  std::string footprint;  ///< a number, or "footprint of k" if it depends on the target
  /// An upper bound in bytes, if the launch specifies its number of cores and all targets agree.
  std::optional<int64_t> at_most;
  bool in_loop = false;
};

/// A workspace of a program, and the launches whose pipes use it, in source order.
struct WorkspaceMap {
  std::string name;  ///< such as "matmul_residual: q"
  std::string device;
  int64_t queue = 0;
  std::vector<LaunchMap> launches;
};

struct ProgramMap {
  std::string name;
  std::vector<WorkspaceMap> workspaces;
  std::vector<LaunchMap> others;  ///< launches that have no pipes in memory
};

/// Says why a kernel has no pipes in memory, and what would change that.
inline constexpr std::string_view kNoPipesInMemory =
    "no pipes in memory: the kernel has no stages, or they are fused into one loop that passes "
    "tiles on directly; with "
    "--pipes=buffered, the pipes of stages are in memory";

struct WorkspaceReport {
  std::string file;
  std::vector<KernelMap> kernels;
  std::vector<ProgramMap> programs;
};

/// Maps the results of DecidePipes: the memory of pipes in the kernels of each target, and the
/// workspaces in the programs of the module.
WorkspaceReport MapWorkspaces(const std::string& file, const driver::Compilation& made);

std::string ReportText(const WorkspaceReport& report);

/// Returns an HTML page with a picture of each slice, followed by the text of the report.
std::string HtmlPage(const WorkspaceReport& report);

}  // namespace kdl::tools
