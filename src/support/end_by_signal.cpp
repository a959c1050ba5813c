#include "support/end_by_signal.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

// The handler may interrupt any code, so it uses neither locks nor memory from the heap, and another process removes
// the files.

namespace kdl {

namespace {

constexpr int kSlots = 256;
constexpr int kNoSlot = -1;
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

std::atomic<char*> g_paths[kSlots];
std::atomic<pid_t> g_leaders[kSlots];

void SignalGroups(int signal) {
  for (const std::atomic<pid_t>& leader : g_leaders) {
    if (pid_t pid = leader.load(); pid > 0) ::kill(-pid, signal);
  }
}

/// Waits until the processes have ended, but not longer than a second.
void WaitForLeaders() {
  constexpr timespec kPause = {0, 10'000'000};
  for (int pauses = 0; pauses < 100; ++pauses) {
    bool is_running = false;
    for (const std::atomic<pid_t>& leader : g_leaders) {
      pid_t pid = leader.load();
      is_running = is_running || (pid > 0 && ::waitpid(pid, nullptr, WNOHANG) == 0);
    }
    if (!is_running) return;
    ::nanosleep(&kPause, nullptr);
  }
}

/// Starts `rm` for the paths and waits for it.
void RemovePaths() {
  static char* words[kSlots + 4];
  static char name[] = "rm";
  static char options[] = "-rf";
  static char end_of_options[] = "--";
  int count = 0;
  for (char* word : {name, options, end_of_options}) words[count++] = word;
  int first = count;
  for (const std::atomic<char*>& path : g_paths) {
    if (char* text = path.load()) words[count++] = text;
  }
  if (count == first) return;
  pid_t child = ::_Fork();
  if (child == 0) {
    ::execv("/bin/rm", words);
    ::_exit(EXIT_FAILURE);
  }
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
}

extern "C" void CleanUpAndEnd(int signal) {
  SignalGroups(SIGTERM);
  WaitForLeaders();
  SignalGroups(SIGKILL);  // those that leaders were about to start
  RemovePaths();
  // The signal is delivered again when the handler returns, and then ends the process.
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// Installs the handler, except for signals that the caller of the program has chosen to ignore.
void InstallHandlers() {
  static const bool installed = [] {
    struct sigaction action{};
    action.sa_handler = CleanUpAndEnd;
    ::sigfillset(&action.sa_mask);
    for (int signal : kSignals) {
      struct sigaction before{};
      bool is_default = ::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL;
      if (is_default) ::sigaction(signal, &action, nullptr);
    }
    return true;
  }();
  static_cast<void>(installed);
}

template <typename T>
int TakeSlot(std::atomic<T> (&slots)[kSlots], T value) {
  InstallHandlers();
  for (int slot = 0; slot < kSlots; ++slot) {
    T free{};
    if (slots[slot].compare_exchange_strong(free, value)) return slot;
  }
  return kNoSlot;
}

}  // namespace

RemovedBySignal::RemovedBySignal(const std::string& path) : slot_(kNoSlot) {
  char* copy = ::strdup(path.c_str());
  if (copy) slot_ = TakeSlot(g_paths, copy);
  if (slot_ == kNoSlot) std::free(copy);
}

RemovedBySignal::RemovedBySignal(RemovedBySignal&& other) noexcept
    : slot_(std::exchange(other.slot_, kNoSlot)) {}

RemovedBySignal::~RemovedBySignal() {
  if (slot_ != kNoSlot) std::free(g_paths[slot_].exchange(nullptr));
}

HeldSignals::HeldSignals() {
  sigset_t held;
  ::sigemptyset(&held);
  for (int signal : kSignals) ::sigaddset(&held, signal);
  ::pthread_sigmask(SIG_BLOCK, &held, &before_);
}

HeldSignals::~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

EndedBySignal::EndedBySignal(pid_t leader) : slot_(TakeSlot(g_leaders, leader)) {}

EndedBySignal::~EndedBySignal() {
  if (slot_ != kNoSlot) g_leaders[slot_].store(0);
}

}  // namespace kdl
