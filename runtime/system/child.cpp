#include "system/child.h"

#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <thread>

extern char** environ;

namespace kdl::runtime {

int Child::Start(std::vector<std::string> words, int* process) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t started = -1;
  const int failed =
      ::posix_spawnp(&started, arguments[0], &actions_, nullptr, arguments.data(), environ);
  *process = failed == 0 ? started : -1;
  return failed;
}

std::string EndProcess(int process) {
  int status = 0;
  ::kill(process, SIGKILL);
  ::waitpid(process, &status, 0);
  if (WIFSIGNALED(status)) {
    return "was killed by signal " + std::to_string(WTERMSIG(status)) + " (" +
           ::strsignal(WTERMSIG(status)) + ")";
  }
  return "exited with code " + std::to_string(WEXITSTATUS(status));
}

bool EndsWell(int process, std::chrono::milliseconds deadline) {
  constexpr auto kLook = std::chrono::milliseconds(5);
  const auto begin = std::chrono::steady_clock::now();
  int status = 0;
  while (::waitpid(process, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() - begin > deadline) {
      EndProcess(process);
      return false;
    }
    std::this_thread::sleep_for(kLook);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace kdl::runtime
