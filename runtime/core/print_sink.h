// The destination of what the kernels of a context print.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "kdl/device.h"

namespace kdl::runtime {

// Standard output, or a function of the application. That function may wait for launches that print, too. It
// is therefore called without any lock, and not from a kernel, which runs while its device is locked: lines
// are kept until the launch has run.
class PrintSink {
 public:
  // Changes the destination. Waits until the current call of the function on another thread has returned, so
  // that the application can then destroy what the function uses.
  void Redirect(kdl_write_fn write, void* user);
  // Writes a line to standard output, or keeps it for the function. Returns 0, or the system's error code if
  // some output was lost. Throws std::bad_alloc if the line cannot be kept.
  int Write(std::string line);
  // Passes the lines that are kept to the function, one call after another. If such a call is in progress,
  // returns immediately: the thread of that call passes these lines, too, because the call may wait for the
  // caller. Does not throw.
  void Deliver();

 private:
  static int WriteToOutput(const std::string& line);

  std::mutex mutex_;
  std::condition_variable returned_;  // signalled when no thread calls the function any more
  kdl_write_fn write_ = nullptr;      // null for standard output
  void* user_ = nullptr;
  std::deque<std::string> kept_;
  bool is_calling_ = false;
  std::thread::id caller_;  // the thread that calls the function, if `is_calling_`
};

}  // namespace kdl::runtime
