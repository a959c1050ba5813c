#include "driver/report.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "support/io.h"
#include "support/render.h"

namespace kdl::driver {

namespace {

bool HasColour() {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return (refused == nullptr || *refused == '\0') && !dumb && ErrorsGoToTerminal();
}

}  // namespace

void PrintDiagnostics(const DiagnosticEngine& diagnostics, const SourceManager& sources,
                      std::string_view format, std::string_view program) {
  bool colour = HasColour();
  std::string text;
  for (const std::unique_ptr<Diagnostic>& one : diagnostics.all()) {
    std::string rendered =
        format == "json" ? RenderJson(*one, sources) : RenderText(*one, sources, colour);
    if (rendered.starts_with(kCompilerName)) rendered.replace(0, kCompilerName.size(), program);
    text += rendered;
  }
  PrintAside(text);
}

bool PrintOutput(std::string_view text, std::string_view program) {
  bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) {
    PrintAside(fmt::format("{}: error: cannot write to standard output: {}\n", program,
                           std::strerror(errno)));  // standard error may be closed, too
  }
  return written;
}

void PrintAside(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace kdl::driver
