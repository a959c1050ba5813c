#pragma once

#include <vector>

#include "driver/files.h"
#include "driver/ranks/transport.h"
#include "driver/run/bound_program.h"
#include "support/diagnostics.h"

namespace kdl::driver {

/// Writes .npy files of which each process has a part of the elements, and `others`, which only the first process has. All
/// processes must call this with the same outputs. The first one creates the files, each writes its elements, and when all are
/// on disk, the first one gives the files their names. If a process fails, no file is written, and it reports why. Returns
/// whether all processes have succeeded.
bool WriteSharedOutputs(const LocalRanks& ranks, const std::vector<const BoundArgument*>& shared,
                        const std::vector<OutputFile>& others, DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
