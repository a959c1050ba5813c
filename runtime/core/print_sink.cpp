#include "core/print_sink.h"

#include <cerrno>
#include <cstdio>
#include <utility>

#include "system/float_state.h"

namespace kdl::runtime {

void PrintSink::Redirect(kdl_write_fn write, void* user) {
  std::unique_lock lock(mutex_);
  write_ = write;
  user_ = user;
  returned_.wait(lock, [&] { return !is_calling_ || caller_ == std::this_thread::get_id(); });
}

int PrintSink::Write(std::string line) {
  const std::lock_guard lock(mutex_);
  if (write_ == nullptr) return WriteToOutput(line);
  kept_.push_back(std::move(line));
  return 0;
}

void PrintSink::Deliver() {
  std::unique_lock lock(mutex_);
  if (is_calling_) return;
  is_calling_ = true;
  caller_ = std::this_thread::get_id();
  while (!kept_.empty()) {
    const std::string line = std::move(kept_.front());
    kept_.pop_front();
    const kdl_write_fn write = write_;
    void* const user = user_;
    lock.unlock();
    if (write == nullptr) {
      WriteToOutput(line);
    } else {
      const FloatScope floats;  // the function may change the floating-point state
      write(user, line.data(), line.size());
    }
    lock.lock();
  }
  is_calling_ = false;
  returned_.notify_all();
}

int PrintSink::WriteToOutput(const std::string& line) {
  const bool is_written =
      std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fflush(stdout) == 0;
  return is_written ? 0 : errno;
}

}  // namespace kdl::runtime
