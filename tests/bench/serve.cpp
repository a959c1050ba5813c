#include "serve.h"

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>

#include "tools/measure/trials.h"

namespace bench {

bool Serve(const Case& c, const Host& host) {
  const Task task = c.make(host);
  task.ours();
  task.peers[0].run();
  const std::string wrong = task.judge().wrong;
  std::printf("%s\n", wrong.empty() ? "ready" : wrong.c_str());
  std::fflush(stdout);
  std::int64_t runs = 0;
  while (wrong.empty() && std::cin >> runs) {
    std::printf("%.9g\n", kdl::measure::Time({"ours", task.ours}, runs, host.threads == 1));
    std::fflush(stdout);
  }
  return wrong.empty();
}

}  // namespace bench
