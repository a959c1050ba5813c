// Child processes.
#pragma once

#include <spawn.h>

#include <chrono>
#include <string>
#include <vector>

namespace kdl::runtime {

// File descriptors that every program has.
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
  // Returns 0, or the error number if the process could not be started.
  int Start(std::vector<std::string> words, int* process);

 private:
  posix_spawn_file_actions_t actions_;
};

// Kills the process if it is still running, and says how it ended: "ended with code 3".
std::string EndProcess(int process);
// Returns whether the process ends successfully before the deadline; after that, it is killed.
bool EndsWell(int process, std::chrono::milliseconds deadline);

}  // namespace kdl::runtime
