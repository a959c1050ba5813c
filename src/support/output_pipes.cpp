#include "support/output_pipes.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace kdl {

namespace {

bool IsPipe(int stream) {
  struct stat status{};
  return fstat(stream, &status) == 0 && S_ISFIFO(status.st_mode);
}

bool HasUnreadBytes(int stream) {
  int unread = 0;
  return ioctl(stream, FIONREAD, &unread) == 0 && unread > 0;
}

}  // namespace

void WaitUntilOutputIsRead() {
  constexpr std::chrono::milliseconds kStep(1);
  for (int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (!IsPipe(stream)) continue;
    for (int step = 0; step < 1000 && HasUnreadBytes(stream); ++step)
      std::this_thread::sleep_for(kStep);
  }
}

}  // namespace kdl
