// Runs a case at the request of another program (against.py), so that runs of two builds can alternate.
#pragma once

#include "case.h"

namespace bench {

/// Writes a line that contains "ready" or says what is wrong with the results. Then reads a number of runs
/// from each line of stdin, runs our kernel that many times, and writes the seconds per run: processor time
/// with one thread, else wall-clock time. Returns at the end of the input. Returns false if the results were
/// wrong.
bool Serve(const Case& c, const Host& host);

}  // namespace bench
