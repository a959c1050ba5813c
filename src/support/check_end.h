#pragma once

namespace kdl {

/// Terminates the process after a failed check has been reported. Must not return.
using FailedCheckEnd = void (*)();

/// Makes a failed check call `end` instead of exiting with status 70. Needed for fuzzers, which ignore the
/// exit status but record the message of an abort. Call it once, before any other thread starts.
void EndFailedChecksBy(FailedCheckEnd end);

}  // namespace kdl
