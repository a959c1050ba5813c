#include "support/output_pipes.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string_view>
#include <thread>

using namespace kdl;

TEST_CASE("output: a process waits until the reader of its pipe has read all of it") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    constexpr std::string_view kText = "error\n";
    bool written = ::write(STDERR_FILENO, kText.data(), kText.size()) == std::ssize(kText);
    WaitUntilOutputIsRead();
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  int status = 0;
  CHECK(::waitpid(child, &status, WNOHANG) == 0);
  std::array<char, 16> text{};
  CHECK(::read(ends[0], text.data(), text.size()) == 6);
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  ::close(ends[0]);
}
