#include "support/check.h"

#include "support/check_end.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace kdl {

namespace {

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
  std::string text = "kernelc: internal error: this is a bug in kernelc, not in your program\n";
  text += fmt::format("  failed: {}{}{}\n  at: {}:{}\n", condition, detail.empty() ? "" : ": ",
                      detail, file, line);
  for (const std::string& what : Doing()) text += fmt::format("  while: {}\n", what);
  text += "  Please report it with the command line and the source; no output file was written.\n";
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  End()();
  std::abort();
}

}  // namespace kdl
