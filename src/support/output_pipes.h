#pragma once

namespace kdl {

/// Waits until the reader of standard output and the reader of standard error have read everything, but at most a second for
/// each. Does nothing for a stream that is not a pipe. For a process whose parent drops the rest of its output when it ends.
void WaitUntilOutputIsRead();

}  // namespace kdl
