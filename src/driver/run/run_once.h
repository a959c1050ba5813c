#pragma once

#include "driver/run/arguments.h"
#include "driver/run/run_place.h"
#include "ir/module.h"
#include "support/diagnostics.h"
#include "support/result.h"
#include "support/source.h"

namespace kdl::driver {

/// Runs the program once, and updates the arguments in `bound` that it wrote.
Status RunOnce(const RunPlace& place, const ir::Function& program, RunMemory memory,
               BoundProgram& bound);

/// Reports why a run failed, at the source position that the failure's message contains.
void ReportFailure(const Failure& failure, const SourceManager& sources,
                   DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
