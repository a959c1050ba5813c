#include "support/check.h"

#include "support/check_end.h"

#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace kdl {

namespace {

constexpr std::string_view kOurFault =
    "kernelc: internal error: this is a bug in kernelc, not in your program\n";
constexpr std::string_view kPleaseReport =
    "  Please report it with the command line and the source; no output file was written.\n";

std::vector<std::string>& Doing() {
  thread_local std::vector<std::string> stack;
  return stack;
}

void ExitOurFault() { std::_Exit(70); }

FailedCheckEnd& End() {
  static FailedCheckEnd end = ExitOurFault;
  return end;
}

}  // namespace

void EndFailedChecksBy(FailedCheckEnd end) { End() = end; }

DoingScope::DoingScope(std::string what) { Doing().push_back(std::move(what)); }
DoingScope::~DoingScope() { Doing().pop_back(); }

void FailCheck(const char* file, int line, const char* condition, const std::string& detail) {
  std::string text(kOurFault);
  text += fmt::format("  failed: {}{}{}\n  at: {}:{}\n", condition, detail.empty() ? "" : ": ",
                      detail, file, line);
  for (const std::string& what : Doing()) text += fmt::format("  while: {}\n", what);
  text += kPleaseReport;
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  End()();
  std::abort();
}

namespace {

/// Writes to standard error without buffers or memory from the heap.
void WriteNow(std::string_view text) {
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

}  // namespace

void FailBySignal(int signal) {
  if (Doing().empty()) return;
  const char* name = ::sigdescr_np(signal);
  WriteNow(kOurFault);
  WriteNow("  failed: it crashed: ");
  WriteNow(name ? name : "unknown signal");
  for (const std::string& what : Doing()) {
    WriteNow("\n  while: ");
    WriteNow(what);
  }
  WriteNow("\n");
  WriteNow(kPleaseReport);
  End()();
  std::abort();
}

}  // namespace kdl
