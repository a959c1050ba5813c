// Tests that crashes and fatal errors of LLVM are reported as our own faults.
#include <doctest/doctest.h>
#include <llvm/Support/ErrorHandling.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "codegen/llvm/report_crashes.h"
#include "support/check.h"

using namespace kdl;

namespace {

struct ChildEnd {
  int status;
  std::string err;
};

/// Runs the function in a child process, and returns how it ended and what it printed to standard error.
template <typename Function>
ChildEnd EndOf(Function function) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    signal(SIGSEGV, SIG_DFL);  // doctest has a handler
    function();
    _exit(0);
  }
  close(ends[1]);
  ChildEnd end{};
  char block[256];
  for (ssize_t got = 0; (got = read(ends[0], block, sizeof block)) > 0;)
    end.err.append(block, static_cast<size_t>(got));
  close(ends[0]);
  REQUIRE(waitpid(child, &end.status, 0) == child);
  return end;
}

bool Reports(const ChildEnd& end, const std::string& what) {
  constexpr int kOurFault = 70;
  return WIFEXITED(end.status) && WEXITSTATUS(end.status) == kOurFault &&
         end.err.find("this is a bug in kernelc") != std::string::npos &&
         end.err.find(what) != std::string::npos &&
         end.err.find("while: compiling module m\n") != std::string::npos;
}

}  // namespace

TEST_CASE("crashes: a fatal error of LLVM says what was compiled") {
  ChildEnd end = EndOf([] {
    const DoingScope doing("compiling module m");
    const codegen::ReportCrashes crashes;
    llvm::report_fatal_error("Cannot select: x");
  });
  CHECK(Reports(end, "LLVM: Cannot select: x"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("crashes: a segmentation fault says what was compiled") {
  ChildEnd end = EndOf([] {
    const DoingScope doing("compiling module m");
    const codegen::ReportCrashes crashes;
    raise(SIGSEGV);
  });
  CHECK(Reports(end, "it crashed: Segmentation fault"));
}

TEST_CASE("crashes: those of threads that do not compile stay what they are") {
  ChildEnd outside = EndOf([] {
    const codegen::ReportCrashes crashes;
    *static_cast<volatile int*>(nullptr) = 0;
  });
  ChildEnd after = EndOf([] {
    const DoingScope doing("compiling module m");
    {
      const codegen::ReportCrashes crashes;
    }
    raise(SIGSEGV);
  });
  for (const ChildEnd& end : {outside, after}) {
    CHECK(WIFSIGNALED(end.status));
    CHECK(end.err == "");
  }
}
#endif
