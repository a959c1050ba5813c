#pragma once

#include "driver/run/arguments.h"
#include "driver/run/run_place.h"
#include "ir/module.h"
#include "support/diagnostics.h"

namespace kdl::driver {

/// Runs the program again, with the reference interpreter in the types of its kernels and in f64, and reports the first
/// value that becomes NaN or infinite, or whose error is larger than rounding explains. If the results `after` meet the
/// contract of the run, errors of values on the way to them are not reported. Returns true if there is nothing to report.
bool LocateErrors(const RunPlace& place, const ir::Function& program, const BoundProgram& before,
                  const BoundProgram& after, DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
