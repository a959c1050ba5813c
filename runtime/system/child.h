// Child processes.
#pragma once

#include <spawn.h>

#include <chrono>
#include <string>
#include <vector>

namespace kdl::runtime {

// The file descriptors that every program has.
inline constexpr int kInput = 0;
inline constexpr int kOutput = 1;
inline constexpr int kErrors = 2;

class Child {
 public:
  Child() { ::posix_spawn_file_actions_init(&actions_); }
  ~Child() { ::posix_spawn_file_actions_destroy(&actions_); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void Give(int file, int as) { ::posix_spawn_file_actions_adddup2(&actions_, file, as); }
  // Starts the process. Returns 0, or the error number if it could not be started.
  int Start(std::vector<std::string> words, int* process);

 private:
  posix_spawn_file_actions_t actions_;
};

// Kills the process if it is still running. Returns how it ended, such as "ended with code 3".
std::string EndProcess(int process);
// Waits for the process. Returns whether it exits successfully before the deadline. At the deadline, kills
// it.
bool EndsWell(int process, std::chrono::milliseconds deadline);

}  // namespace kdl::runtime
