// What this process starts: the files that a child has.
#pragma once

#include <spawn.h>

#include <string>
#include <vector>

namespace kdl::runtime {

// A child's files, but for the usual three. Ours lie from kLowestFile on, so that none is in the way of these.
inline constexpr int kMemoryFile = 3;
inline constexpr int kImageFile = 4;
inline constexpr int kLifeFile = 5;
inline constexpr const char* kImagePath = "/proc/self/fd/4";
inline constexpr int kLowestFile = 10;

class Child {
 public:
  Child() { ::posix_spawn_file_actions_init(&actions_); }
  ~Child() { ::posix_spawn_file_actions_destroy(&actions_); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void Give(int file, int as) { ::posix_spawn_file_actions_adddup2(&actions_, file, as); }
  // 0, or why it has not started.
  int Start(std::vector<std::string> words, pid_t* process);

 private:
  posix_spawn_file_actions_t actions_;
};

}  // namespace kdl::runtime
