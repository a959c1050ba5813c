#pragma once

namespace kdl {

/// Ends the process after a failed check has been told; must not return.
using FailedCheckEnd = void (*)();

/// Puts `end` in place of the exit with 70, for a process whose watcher reads other ends than an exit status:
/// a fuzzer keeps the text of an abort, not that of an exit. Called once, before any other thread starts.
void EndFailedChecksBy(FailedCheckEnd end);

}  // namespace kdl
