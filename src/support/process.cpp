#include "support/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "support/end_by_signal.h"
#include "support/io.h"

namespace kdl {

namespace {

using Clock = std::chrono::steady_clock;

/// A pipe whose ends are closed by the destructor.
struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() { open = ::pipe2(ends, O_CLOEXEC) == 0; }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    CloseEnd(0);
    CloseEnd(1);
  }
  void CloseEnd(int which) {
    if (ends[which] >= 0) ::close(ends[which]);
    ends[which] = -1;
  }
  bool open = false;
};

struct SpawnSettings {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
};

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Returns the environment of this process, with the variables of `added` replaced or appended.
std::vector<std::string> Environment(const std::vector<std::string>& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry; ++entry) {
    std::string_view text(*entry);
    std::string_view name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& one : added) replaced = replaced || one.starts_with(name);
    if (!replaced) all.emplace_back(text);
  }
  all.insert(all.end(), added.begin(), added.end());
  return all;
}

/// The environment variable in which kernelc passes its process id to the programs that it starts.
constexpr std::string_view kParent = "KERNELC_PARENT=";

/// Starts the process as the leader of its own process group, so that its children can be killed with it. `blocked` are the signals
/// that it blocks.
int Spawn(const ProcessRequest& request, const Pipe& out, const Pipe& err, const sigset_t& blocked,
          pid_t& child) {
  SpawnSettings settings;
  ::posix_spawn_file_actions_addopen(&settings.actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&settings.actions, out.ends[1], 1);
  ::posix_spawn_file_actions_adddup2(&settings.actions, err.ends[1], 2);
  if (!request.folder.empty()) {
    ::posix_spawn_file_actions_addchdir_np(&settings.actions, request.folder.c_str());
  }
  ::posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigmask(&settings.attributes, &blocked);
  ::posix_spawnattr_setpgroup(&settings.attributes, 0);
  std::vector<std::string> words = request.words;
  std::vector<std::string> added = request.environment;
  added.push_back(fmt::format("{}{}", kParent, ::getpid()));
  std::vector<std::string> environment = Environment(added);
  return ::posix_spawnp(&child, words[0].c_str(), &settings.actions, &settings.attributes,
                        Pointers(words).data(), Pointers(environment).data());
}

/// Reads the available bytes and appends them to `text`. Returns false at the end of the stream.
bool Drain(int descriptor, std::string& text) {
  char block[1 << 16];
  ssize_t got = ::read(descriptor, block, sizeof block);
  if (got > 0) text.append(block, static_cast<size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

/// Reads both streams to their ends. Returns false if the deadline passes first.
bool ReadAll(Pipe& out, Pipe& err, Clock::time_point deadline, ProcessResult& result) {
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd streams[2] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}};
    if (::poll(streams, 2, static_cast<int>(std::min<int64_t>(left + 1, 1 << 30))) <= 0) continue;
    if (streams[0].revents != 0 && !Drain(out.ends[0], result.out)) out.CloseEnd(0);
    if (streams[1].revents != 0 && !Drain(err.ends[0], result.err)) err.CloseEnd(0);
  }
  return true;
}

/// Waits until the process exits, since it may close its streams and keep running. Returns false if the
/// deadline passes first.
bool WaitUntil(pid_t child, Clock::time_point deadline, int& status) {
  for (int pause_us = 50;; pause_us = std::min(pause_us * 2, 20000)) {
    pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return true;
    if (Clock::now() >= deadline) return false;
    ::usleep(static_cast<useconds_t>(pause_us));
  }
}

}  // namespace

Result<ProcessResult> RunProcess(const ProcessRequest& request) {
  Pipe out;
  Pipe err;
  if (!out.open || !err.open) {
    return Failure{fmt::format("cannot make a pipe: {}", std::strerror(errno)),
                   FailureKind::Environment};
  }
  pid_t child = 0;
  // A signal that came between the start of the process and `ended` would not end the process.
  std::optional<HeldSignals> held(std::in_place);
  int error = Spawn(request, out, err, held->before(), child);
  if (error != 0) {
    return Failure{fmt::format("cannot start '{}': {}", request.words[0], std::strerror(error)),
                   FailureKind::Environment};
  }
  const EndedBySignal ended(child);
  held.reset();
  out.CloseEnd(1);
  err.CloseEnd(1);
  ProcessResult result;
  auto deadline = Clock::now() + std::chrono::milliseconds(std::llround(request.deadline_s * 1000));
  int status = 0;
  if (!ReadAll(out, err, deadline, result) || !WaitUntil(child, deadline, status)) {
    result.timed_out = true;
    ::kill(-child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status) && !result.timed_out) result.signal = WTERMSIG(status);
  return result;
}

namespace {

/// Whether a process exists and has not ended. If /proc cannot be read, it counts as running.
bool IsRunning(const std::string& pid) {
  bool is_known = ::access("/proc/self/stat", R_OK) == 0;
  Result<std::string> stat = ReadFile(fmt::format("/proc/{}/stat", pid), 1 << 12);
  if (!stat.ok()) return !is_known;
  size_t name_end = stat->rfind(") ");  // the state follows the name of the program
  return name_end == std::string::npos || (*stat)[name_end + 2] != 'Z';
}

/// Makes this process end when the kernelc that started it ends. A program between both is not concerned.
void EndWithParent() {
  const char* parent = std::getenv(std::string(kParent.substr(0, kParent.size() - 1)).c_str());
  if (!parent) return;
  if (std::to_string(::getppid()) == parent) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before prctl was called, or even before this process began.
  if (!IsRunning(parent)) std::_Exit(EXIT_FAILURE);
}

/// Opens the standard streams that the caller has closed, so that reading from them or writing to them fails.
/// Otherwise, the next file that is opened would get the number of the stream, and receive what is printed.
void OpenClosedStreams() {
  constexpr int kAccess[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", kAccess[stream]);
}

}  // namespace

void BeginProcess() {
  OpenClosedStreams();
  // If the parent ignores SIGCHLD, this process inherits that setting, and the system then discards exit
  // statuses before waitpid can read them.
  ::signal(SIGCHLD, SIG_DFL);
  // A write beyond the largest allowed size of a file then fails like any other, instead of ending the process.
  ::signal(SIGXFSZ, SIG_IGN);
  EndWithParent();
}

std::string DescribeEnd(const ProcessResult& result, const ProcessRequest& request) {
  if (result.timed_out) return fmt::format("did not end within {} s", request.deadline_s);
  if (result.signal != 0)
    return fmt::format("was killed by signal {} ({})", result.signal, ::strsignal(result.signal));
  return fmt::format("exited with code {}", result.exit_code);
}

std::string FindProgram(const std::vector<std::string>& names) {
  const char* path = std::getenv("PATH");
  for (const std::string& name : names) {
    if (name.find('/') != std::string::npos) {
      if (::access(name.c_str(), X_OK) == 0) return name;
      continue;
    }
    std::string_view folders = path ? path : "/usr/bin:/bin";
    while (!folders.empty()) {
      std::string_view folder = folders.substr(0, folders.find(':'));
      folders.remove_prefix(std::min(folders.size(), folder.size() + 1));
      std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
      if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    }
  }
  return {};
}

}  // namespace kdl
