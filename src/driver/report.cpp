#include "driver/report.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "kdl/version.h"
#include "support/captured_output.h"
#include "support/io.h"
#include "support/json_text.h"
#include "support/render.h"

namespace kdl::driver {

namespace {

/// The meaning of a member of the object never changes within a schema; members may be added.
constexpr int kJsonSchema = 1;

struct JsonObject {
  /// If only the object is printed: everything that is printed until its end, also by kernels.
  std::unique_ptr<CapturedOutput> captured;
  std::string output;  ///< otherwise: what PrintOutput has printed
  std::string aside;   ///< if only the object is printed: what PrintAside would print
  nlohmann::ordered_json members;
};
std::optional<JsonObject> json;

bool PrintsAside() { return !json || !json->captured; }

void AddDiagnostic(const Diagnostic& one, const SourceManager& sources) {
  nlohmann::ordered_json entry = nlohmann::ordered_json::parse(RenderJson(one, sources));
  entry["text"] = RenderText(one, sources, false);
  json->members["diagnostics"].push_back(std::move(entry));
}

bool HasColour() {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return (refused == nullptr || *refused == '\0') && !dumb && ErrorsGoToTerminal();
}

}  // namespace

void PrintDiagnostics(const DiagnosticEngine& diagnostics, const SourceManager& sources,
                      std::string_view program) {
  bool colour = HasColour();
  std::string text;
  for (const std::unique_ptr<Diagnostic>& one : diagnostics.all()) {
    if (json) AddDiagnostic(*one, sources);
    std::string rendered = RenderText(*one, sources, colour);
    if (rendered.starts_with(kCompilerName)) rendered.replace(0, kCompilerName.size(), program);
    text += rendered;
  }
  if (PrintsAside()) PrintAside(text);
}

bool PrintOutput(std::string_view text, std::string_view program) {
  if (json && !json->captured) json->output += text;
  bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) {
    PrintAside(fmt::format("{}: error: cannot write to standard output: {}\n", program,
                           std::strerror(errno)));  // standard error may be closed, too
  }
  return written;
}

void BeginJson(std::string_view command, JsonPlace place) {
  json.emplace();
  if (place == JsonPlace::Output) json->captured = std::make_unique<CapturedOutput>();
  json->members = {{"schema", kJsonSchema}, {"version", KDL_VERSION}, {"command", command}};
  json->members["diagnostics"] = nlohmann::ordered_json::array();
}

void AddJson(std::string_view key, std::string_view value) {
  if (json) json->members[std::string(key)] = nlohmann::ordered_json::parse(value);
}

std::string EndJson(int exit_code) {
  json->members["exit_code"] = exit_code;
  json->members["output"] = json->captured ? json->captured->Text() : json->output;
  if (!json->aside.empty()) json->members["aside"] = json->aside;
  std::string text = JsonText(json->members) + "\n";
  json.reset();
  return text;
}

void PrintAside(std::string_view text) {
  // Progress, which only terminals show, is not part of the object.
  if (PrintsAside() || ErrorsGoToTerminal()) {
    std::fwrite(text.data(), 1, text.size(), stderr);
  } else {
    json->aside += text;
  }
}

}  // namespace kdl::driver
