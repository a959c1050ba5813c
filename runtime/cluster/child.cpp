#include "cluster/child.h"

extern char** environ;

namespace kdl::runtime {

int Child::Start(std::vector<std::string> words, pid_t* process) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  return ::posix_spawnp(process, arguments[0], &actions_, nullptr, arguments.data(), environ);
}

}  // namespace kdl::runtime
