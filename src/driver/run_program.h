#pragma once

#include <map>
#include <memory>
#include <string>

#include "driver/arguments.h"
#include "ir/module.h"
#include "kdl/runtime.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::driver {

/// The runtime's spec of each device of a module, by its name; a list of specs, separated by commas, is tried in order.
using DeviceSpecs = std::map<std::string, std::string>;

struct ContextDeleter {
  void operator()(kdl_context* context) const { kdl_context_destroy(context); }
};
using Context = std::unique_ptr<kdl_context, ContextDeleter>;

/// What a run needs besides the program's arguments.
struct RunPlace {
  kdl_context* context;      ///< knows the images of the module
  const ir::Module& module;  ///< after the module passes
  DeviceSpecs specs;
  const SourceManager& sources;  ///< where traps are shown; may be without files
};

/// Runs the program once. `bound` then holds what it wrote. Reports what the runtime found; false then.
bool RunOnce(const RunPlace& place, const ir::Function& program, BoundProgram& bound,
             DiagnosticEngine& diagnostics);

/// Runs the program on the reference device with the same arguments and compares what both wrote, bit for bit. `before`
/// holds the arguments, `after` what the other run left. Reports every tensor that differs.
bool CheckAgainstReference(const RunPlace& place, const ir::Function& program,
                           const BoundProgram& before, const BoundProgram& after,
                           DiagnosticEngine& diagnostics);

/// The lines of -v: for each device its launches, copies and bytes, then each transfer's cause.
std::string StatisticsText(const RunPlace& place);

}  // namespace kdl::driver
