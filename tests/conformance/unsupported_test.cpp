// Runs each test that, according to a device's list, the device cannot pass. Each test runs in its own
// process. A test that passes must be removed from the list.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "conformance/conformance.h"

namespace kdl::conformance {
namespace {

using Clock = std::chrono::steady_clock;

// The time limit for a test; some of these tests never end.
constexpr std::chrono::seconds kMost{10};

// Returns whether the test passes on the device this time.
bool PassesOnce(const std::string& test, const std::string& spec) {
  std::string only_test = "-tc=" + test;
  std::string only_device = "-sc=" + spec;
  std::string program = "/proc/self/exe";
  char* const words[] = {program.data(), only_test.data(), only_device.data(), nullptr};
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  setenv(kRunsUnsupported, "1", 1);
  pid_t child = 0;
  const int problem = posix_spawn(&child, program.c_str(), &quiet, nullptr, words, environ);
  unsetenv(kRunsUnsupported);
  posix_spawn_file_actions_destroy(&quiet);
  REQUIRE(problem == 0);
  const Clock::time_point end = Clock::now() + kMost;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (Clock::now() > end) kill(child, SIGKILL);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// A test that depends on timing may pass by chance, so it is repeated.
bool Passes(const std::string& test, const std::string& spec) {
  constexpr int kTimes = 3;
  for (int i = 0; i < kTimes; ++i) {
    if (!PassesOnce(test, spec)) return false;
  }
  return true;
}

TEST_CASE("Unsupported: tests that a device's list says it cannot pass do not pass") {
  for (const DeviceUnderTest& device : DevicesUnderTest()) {
    for (const auto& [test, reason] : device.unsupported) {
      INFO(test, " passes on ", device.spec, ", whose list says: ", reason);
      CHECK_FALSE(Passes(test, device.spec));
    }
  }
}

}  // namespace
}  // namespace kdl::conformance
