#pragma once

namespace kdl {

/// Ends the process after a failed check has been reported; must not return.
using FailedCheckEnd = void (*)();

/// Makes a failed check call `end` instead of exiting with status 70. Needed if the parent process ignores
/// the exit status: a fuzzer records the message of an abort, but not that of an exit. Call it once, before
/// any other thread starts.
void EndFailedChecksBy(FailedCheckEnd end);

}  // namespace kdl
