#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile/compile.h"
#include "ir/ring.h"

namespace kdl::tools {

/// The bytes from `begin` up to but not including `end` of an instance's workspace.
struct AddressRange {
  int64_t begin = 0;
  int64_t end = 0;
  size_t pipe = 0;   ///< index in KernelMap::pipes
  std::string what;  ///< "q header", "q slot 0"
};

struct PipeMap {
  std::string name;
  std::string tile;  ///< "f32[64, 64]"
  std::string from;
  std::string to;
  ir::Ring ring;
};

/// A tensor that the cores of a launch share.
struct SharedTensor {
  std::string name;
  std::string type;  ///< "f32[((N + 15) / 16)]"
  bool operator==(const SharedTensor&) const = default;
};

/// The layout of a kernel's pipes in the workspace of an instance, in the code for some targets.
struct KernelMap {
  std::string kernel;
  std::vector<std::string> targets;  ///< such as "x86-64-v3"
  std::vector<PipeMap> pipes;        ///< empty if there are none or all are fused
  std::vector<AddressRange> ranges;
  int64_t footprint = 0;
  /// Before the slices, once per launch; each begins on a cache line.
  std::vector<SharedTensor> shared;
};

struct LaunchMap {
  std::string place;  ///< "mlp.kdl:12:5"
  std::string kernel;
  std::string instances;  ///< "min(M / 64, cores that host runs at once)"
  std::string footprint;  ///< a number, or "footprint of k" if it depends on the target
  /// In bytes, if the launch gives its cores and all targets agree.
  std::optional<int64_t> at_most;
  bool in_loop = false;
};

/// A workspace of a program, and the launches whose pipes are in it, in source order.
struct WorkspaceMap {
  std::string name;  ///< "matmul_residual: q"
  std::string device;
  int64_t queue = 0;
  std::vector<LaunchMap> launches;
};

struct ProgramMap {
  std::string name;
  std::vector<WorkspaceMap> workspaces;
  std::vector<LaunchMap> others;  ///< launches without pipes in memory
};

struct WorkspaceReport {
  std::string file;
  std::vector<KernelMap> kernels;
  std::vector<ProgramMap> programs;
};

/// Maps the results of DecidePipes: rings in the targets' kernels, and workspaces in the module's
/// programs.
WorkspaceReport MapWorkspaces(const std::string& file, const driver::Compilation& made);

std::string ReportText(const WorkspaceReport& report);

/// Returns a page with a picture of each slice, followed by the text.
std::string HtmlPage(const WorkspaceReport& report);

}  // namespace kdl::tools
