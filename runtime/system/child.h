// Processes that this one starts.
#pragma once

#include <spawn.h>

#include <chrono>
#include <string>
#include <vector>

namespace kdl::runtime {

// The numbers of the files that every program has.
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
  // 0, or why it has not started.
  int Start(std::vector<std::string> words, int* process);

 private:
  posix_spawn_file_actions_t actions_;
};

// Ends it, if it has not ended; says how it has: "ended with code 3".
std::string EndProcess(int process);
// Whether it has ended well by then; one that has not ended is ended.
bool EndsWell(int process, std::chrono::milliseconds deadline);

}  // namespace kdl::runtime
