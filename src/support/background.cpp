#include "support/background.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <vector>

namespace kdl {

namespace {

void WriteToParent(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

std::optional<size_t> WaitForInput(std::span<const int> descriptors, int milliseconds) {
  std::vector<pollfd> waited;
  for (int descriptor : descriptors) waited.push_back({descriptor, POLLIN, 0});
  int ready = ::poll(waited.data(), waited.size(), milliseconds);
  if (ready <= 0) return std::nullopt;
  for (size_t i = 0; i < waited.size(); ++i) {
    if (waited[i].revents != 0) return i;
  }
  return std::nullopt;
}

bool ReadAvailable(int descriptor, std::string& text) {
  std::array<char, 1 << 16> bytes;
  for (;;) {
    ssize_t count = ::read(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.append(bytes.data(), static_cast<size_t>(count));
    return true;
  }
}

std::unique_ptr<BackgroundWork> BackgroundWork::Start(const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return nullptr;
  pid_t process = ::fork();
  if (process < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return nullptr;
  }
  if (process == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    WriteToParent(ends[1], work());
    ::_exit(0);
  }
  ::close(ends[1]);
  return std::unique_ptr<BackgroundWork>(new BackgroundWork(process, ends[0]));
}

BackgroundWork::~BackgroundWork() {
  ::kill(process_, SIGKILL);
  ::close(descriptor_);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace kdl
