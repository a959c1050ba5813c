#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/options.h"
#include "ir/module.h"
#include "support/diagnostics.h"

namespace kdl::driver {

/// What happens to the checkpoints of a program when it runs.
struct CheckpointPlan {
  bool writes = false;
  std::string program;             ///< its name in the source
  std::string code;                ///< identifies what it computes
  std::vector<std::string> files;  ///< of its checkpoints
  /// The file with the checkpoint at which the program continues. Empty: it starts from the beginning.
  std::string resume;
};

/// Reports an error and returns nothing if the program does not have the checkpoint that --resume names.
std::optional<CheckpointPlan> PlanCheckpoints(const ir::Function& program, const Options& options,
                                              DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
