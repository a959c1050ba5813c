#include "support/process.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <string>

using namespace kdl;

namespace {

ProcessResult Ran(const ProcessRequest& request) {
  Result<ProcessResult> result = RunProcess(request);
  REQUIRE(result.ok());
  return *result;
}

ProcessRequest Shell(const std::string& script) {
  ProcessRequest request;
  request.words = {"/bin/sh", "-c", script};
  return request;
}

}  // namespace

TEST_CASE("process: output, exit code, folder, environment, empty input") {
  ProcessRequest request = Shell("echo out; echo err >&2; pwd; echo $KDL_TEST; cat; exit 3");
  request.folder = "/usr";
  request.environment = {"KDL_TEST=value"};
  ProcessResult result = Ran(request);
  CHECK(result.exit_code == 3);
  CHECK_FALSE(result.ok());
  CHECK(result.out == "out\n/usr\nvalue\n");
  CHECK(result.err == "err\n");
  CHECK(DescribeEnd(result, request) == "exited with code 3");
}

TEST_CASE("process: arguments reach the program unchanged") {
  ProcessRequest request;
  request.words = {"printf", "%s|", "a b", "$HOME", "*", ""};
  CHECK(Ran(request).out == "a b|$HOME|*||");
}

TEST_CASE("process: termination by a signal is reported") {
  ProcessRequest request = Shell("kill -SEGV $$");
  ProcessResult result = Ran(request);
  CHECK(result.signal == 11);
  CHECK(DescribeEnd(result, request).starts_with("was killed by signal 11"));
}

TEST_CASE("process: an exit is reported even if the parent was started with SIGCHLD ignored") {
  ::signal(SIGCHLD, SIG_IGN);
  BeginProcess();
  ProcessRequest request = Shell("exit 3");
  request.deadline_s = 20;
  CHECK(Ran(request).exit_code == 3);
}

TEST_CASE("process: more output than fits into a pipe") {
  CHECK(Ran(Shell("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2")).err.size() ==
        3000000);
}

TEST_CASE("process: a deadline ends the process and what it started") {
  ProcessRequest request = Shell("sleep 60 & sleep 60");
  request.deadline_s = 0.2;
  auto start = std::chrono::steady_clock::now();
  ProcessResult result = Ran(request);
  CHECK(result.timed_out);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
  CHECK(DescribeEnd(result, request) == "did not end within 0.2 s");
}

TEST_CASE("process: a program that does not exist") {
  ProcessRequest request;
  request.words = {"kernelc-no-such-program"};
  CHECK_FALSE(RunProcess(request).ok());
  CHECK(FindProgram({"kernelc-no-such-program", "sh"}).ends_with("/sh"));
  CHECK(FindProgram({"kernelc-no-such-program"}).empty());
  CHECK(FindProgram({"/kernelc/no/such", "/bin/sh"}) == "/bin/sh");
  CHECK(FindProgram({"/kernelc/no/such"}).empty());
}
