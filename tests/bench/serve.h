// Runs a case on request of another program, so that runs of two builds alternate: against.py.
#pragma once

#include "case.h"

namespace bench {

/// Writes a line with "ready", or with what is wrong with the results. Then reads a number of runs from each
/// line of stdin, runs our kernel that often, and writes the seconds of one run: the processor time with one
/// thread, else wall-clock time. Ends with the input. Returns false if the results were wrong.
bool Serve(const Case& c, const Host& host);

}  // namespace bench
