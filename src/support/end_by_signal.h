#pragma once

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

/// While it exists, a signal that ends the process first ends a group of child processes. They get the signal SIGTERM,
/// so that compilers remove their temporary files.
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
