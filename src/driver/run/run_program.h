#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driver/options.h"
#include "driver/run/arguments.h"
#include "driver/run/contracts.h"
#include "driver/run/executor.h"
#include "driver/run/run_once.h"
#include "driver/run/run_place.h"
#include "ir/module.h"
#include "kdl/runtime.h"
#include "support/diagnostics.h"
#include "support/result.h"
#include "support/source.h"

namespace kdl::driver {

/// Returns the name of a device in the source and on the command line. For `lib::npu` in KIR, that
/// is `lib.npu`.
std::string NameInSource(std::string_view device);

/// Whether the files given with --out may be written. Call this before the run. Reports problems.
bool MayWriteOutputs(const BoundProgram& bound, DiagnosticEngine& diagnostics);

/// Writes the files given with --out, together with the other processes that share the work: each writes its elements of
/// distributed parameters, and the first one everything else. Reports errors, and returns whether the files are written.
bool WriteOutputs(const LocalRanks& ranks, const BoundProgram& bound,
                  DiagnosticEngine& diagnostics);

/// Runs the program, writes the files given with --out, and returns the lines to print: outputs,
/// the statistics for -v, and the result of --verify. With --verify, runs the program again on the
/// reference device with the same arguments, compares the outputs bit for bit, and checks the
/// contract. On error, reports it and writes no files.
std::string RunAndReport(const RunPlace& place, const ir::Function& program, BoundProgram bound,
                         const Options& options, DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
