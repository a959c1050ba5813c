#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>

namespace kdl {

/// While it exists, a signal that ends the process, such as that of Ctrl-C, first removes a file, or a folder with
/// everything in it. Does nothing if hundreds of them exist.
class RemovedBySignal {
 public:
  explicit RemovedBySignal(const std::string& path);
  RemovedBySignal(RemovedBySignal&& other) noexcept;
  RemovedBySignal& operator=(RemovedBySignal&&) = delete;
  ~RemovedBySignal();

 private:
  int slot_;
};

/// While it exists, this thread does not handle signals that end the process. They are handled afterwards.
class HeldSignals {
 public:
  HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals();

  /// The signals that were blocked before.
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_;
};

/// While it exists, a signal that ends the process first ends a group of child processes. They get the signal SIGTERM,
/// so that compilers remove their temporary files, and those that are left when the leader has ended get SIGKILL.
class EndedBySignal {
 public:
  explicit EndedBySignal(pid_t leader);
  EndedBySignal(const EndedBySignal&) = delete;
  EndedBySignal& operator=(const EndedBySignal&) = delete;
  ~EndedBySignal();

 private:
  int slot_;
};

}  // namespace kdl
