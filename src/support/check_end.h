#pragma once

namespace kdl {

/// Terminates the process after a failed check has been reported. Must not return.
using FailedCheckEnd = void (*)();

/// Makes a failed check call `end` instead of exiting with status 70. Needed for fuzzers, which ignore the
/// exit status but record the message of an abort. Call it once, before any other thread starts.
void EndFailedChecksBy(FailedCheckEnd end);

/// Reports a signal that ends the process as an internal error, like a failed check, and exits. Returns if this thread has
/// no open DoingScope. A signal handler may call it.
void FailBySignal(int signal);

}  // namespace kdl
