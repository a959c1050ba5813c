#pragma once

namespace kdl {

/// Ends the process after a failed check has been reported; must not return.
using FailedCheckEnd = void (*)();

/// Calls `end` instead of exiting with status 70 after a failed check. Needed where a parent process does not
/// look at the exit status: a fuzzer records the text of an abort, but not that of an exit. Call it once,
/// before any other thread starts.
void EndFailedChecksBy(FailedCheckEnd end);

}  // namespace kdl
