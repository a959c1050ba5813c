#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile/compile.h"
#include "ir/ring.h"

namespace kdl::tools {

/// Bytes `begin` .. `end` of an instance's workspace.
struct AddressRange {
  int64_t begin = 0;
  int64_t end = 0;
  size_t pipe = 0;   ///< of KernelMap::pipes
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

/// How the pipes of a kernel lie in an instance's workspace, in the code of some targets.
struct KernelMap {
  std::string kernel;
  std::vector<std::string> targets;  ///< "x86-64-v3"
  std::vector<PipeMap> pipes;        ///< empty: none, or all fused
  std::vector<AddressRange> ranges;
  int64_t footprint = 0;
  std::vector<SharedTensor> shared;  ///< one part a launch, each on whole lines, before the slices
};

struct LaunchMap {
  std::string place;  ///< "mlp.kdl:12:5"
  std::string kernel;
  std::string instances;  ///< "min(M / 64, cores that host runs at once)"
  std::string footprint;  ///< a number, or where it depends on the target: "footprint of k"
  std::optional<int64_t>
      at_most;  ///< bytes, where the launch names its cores and all targets agree
  bool in_loop = false;
};

/// A workspace of a program, and the launches whose pipes lie there, in the order of the source.
struct WorkspaceMap {
  std::string name;  ///< "matmul_residual: q"
  std::string device;
  int64_t queue = 0;
  std::vector<LaunchMap> launches;
};

struct ProgramMap {
  std::string name;
  std::vector<WorkspaceMap> workspaces;
  std::vector<LaunchMap> others;  ///< without pipes in memory
};

struct WorkspaceReport {
  std::string file;
  std::vector<KernelMap> kernels;
  std::vector<ProgramMap> programs;
};

/// What DecidePipes has left: rings in the targets' kernels, workspaces in the module's programs.
WorkspaceReport MapWorkspaces(const std::string& file, const driver::Compilation& made);

std::string TextOf(const WorkspaceReport& report);

/// One page with everything in it: a picture of each slice, then the text.
std::string HtmlOf(const WorkspaceReport& report);

}  // namespace kdl::tools
