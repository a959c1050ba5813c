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
#include "driver/run/run_place.h"
#include "ir/module.h"
#include "kdl/runtime.h"
#include "support/diagnostics.h"
#include "support/result.h"
#include "support/source.h"

namespace kdl::driver {

/// The device `lib::npu` of KIR as the source and the command line name it, `lib.npu`.
std::string NameInSource(std::string_view device);

/// Runs the program once; `bound` then holds what it wrote.
Status RunOnce(const RunPlace& place, const ir::Function& program, RunMemory memory,
               BoundProgram& bound);

/// Whether --out may write where it says, which is asked before the run. `read`: files next to those of --arg. Reports.
bool MayWriteOutputs(const BoundProgram& bound, const std::vector<ArgumentSpec>& arguments,
                     std::vector<std::string> read, DiagnosticEngine& diagnostics);

/// Says why a run failed, at the place that the failure names.
void ReportFailure(const Failure& failure, const SourceManager& sources,
                   DiagnosticEngine& diagnostics);

/// Runs the program, writes what --out asks for and gives the lines to print: its outputs, the counts of -v, the result
/// of --verify. That runs the program again with the same arguments on the reference device and compares what both wrote,
/// bit for bit; the inputs fulfil what the contract requires, the outputs what it ensures. Whatever goes wrong is reported, and then no file is written.
std::string RunAndReport(const RunPlace& place, const ir::Function& program, BoundProgram bound,
                         const Options& options, DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
