// A case whose turns another program gives, so that those of two builds alternate: against.py.
#pragma once

#include "case.h"

namespace bench {

/// Writes "ready", or what is wrong with the results, in a line. Then takes a number of runs from each line of stdin, runs our
/// kernel as often, and writes the seconds of one run: the process's own on one thread, the clock's else. Ends with the input.
/// False: the results were wrong.
bool Serve(const Case& c, const Host& host);

}  // namespace bench
