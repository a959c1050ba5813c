#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/report.h"
#include "support/io.h"
#include "support/json_text.h"
#include "support/source.h"
#include "syntax/format.h"
#include "syntax/limits.h"
#include "syntax/reductions.h"
#include "tools/commands.h"
#include "tools/shrinking/failing_command.h"

namespace kdl::tools {

namespace {

constexpr double kDeadline_s = 60;

/// Makes a text smaller while a command fails for it in the same way.
class Shrinker {
 public:
  Shrinker(std::string text, const FailingCommand& command, CommandFailure failure)
      : text_(std::move(text)), command_(command), failure_(std::move(failure)) {}

  /// Shrinks the text until no reduction is left for which the command still fails.
  Result<std::string> Shrink() && {
    for (bool smaller = true; smaller;) {
      Result<bool> round = TryAll();
      if (!round.ok()) return round.failure();
      smaller = *round;
    }
    Result<bool> formatted = TryText(Formatted());
    if (!formatted.ok()) return formatted.failure();
    return std::move(text_);
  }

 private:
  std::vector<syntax::Reduction> Reductions() const {
    SourceManager sources;
    return syntax::FindReductions(sources, sources.Add("shrunk.kdl", text_));
  }

  /// Tries each reduction of the text. After one that succeeds, continues with those of the smaller text at the same
  /// position in the order of their sizes. Returns whether any has succeeded.
  Result<bool> TryAll() {
    bool smaller = false;
    std::vector<syntax::Reduction> reductions = Reductions();
    for (size_t at = 0; at < reductions.size();) {
      Result<bool> fails = TryText(syntax::Reduced(text_, reductions[at]));
      if (!fails.ok()) return fails.failure();
      if (*fails) {
        smaller = true;
        reductions = Reductions();
      } else {
        ++at;
      }
    }
    return smaller;
  }

  /// Keeps a text if the command fails for it as for the original text.
  Result<bool> TryText(const std::string& text) {
    if (text == text_ || !syntax::HasValidSyntax(text) || !tried_.insert(text).second) return false;
    Result<std::optional<CommandFailure>> run = command_.FailureFor(text);
    if (!run.ok()) return run.failure();
    bool fails = *run == failure_;
    if (fails) {
      text_ = text;
      if (ErrorsGoToTerminal())
        driver::PrintAside(fmt::format("\r{} bytes after {} runs  ", text_.size(), tried_.size()));
    }
    return fails;
  }

  std::string Formatted() const {
    SourceManager sources;
    DiagnosticEngine diagnostics;
    FileId file = sources.Add("shrunk.kdl", text_);
    return syntax::FormatFile(sources, file, diagnostics).value_or(text_);
  }

  std::string text_;
  const FailingCommand& command_;
  CommandFailure failure_;
  std::unordered_set<std::string> tried_;
};

size_t LineCount(std::string_view text) {
  return static_cast<size_t>(std::ranges::count(text, '\n'));
}

void ReportFailure(const Failure& failure, DiagnosticEngine& diagnostics) {
  diagnostics.Report(driver::diag::MachineFailed, {}, failure.message);
}

/// Returns the shrunk text, or nothing after an error.
std::optional<std::string> Shrink(const driver::Options& options, const std::string& text,
                                  DiagnosticEngine& diagnostics) {
  if (!syntax::HasValidSyntax(text)) {
    diagnostics.Report(driver::diag::NotShrunk, {}, options.files[0], "it has syntax errors")
        .Help(fmt::format("`kernelc check {}` lists them", options.files[0]));
    return std::nullopt;
  }
  auto command = FailingCommand::Make(options.files[0], options.fails, kDeadline_s);
  if (!command.ok()) {
    ReportFailure(command.failure(), diagnostics);
    return std::nullopt;
  }
  Result<std::optional<CommandFailure>> first = command->FailureFor(text);
  if (!first.ok()) {
    ReportFailure(first.failure(), diagnostics);
    return std::nullopt;
  }
  if (!*first) {
    diagnostics.Report(driver::diag::NotShrunk, {}, options.files[0], "the command succeeds")
        .Help("write a command after --fails that fails for FILE, whose path replaces `{}`");
    return std::nullopt;
  }
  driver::PrintAside(fmt::format("the command {}\n", (*first)->text()));
  driver::AddJson("failure", JsonText(nlohmann::json((*first)->text())));
  Shrinker shrinker(text, *command, **first);
  Result<std::string> shrunk = std::move(shrinker).Shrink();
  if (ErrorsGoToTerminal()) driver::PrintAside("\n");
  if (shrunk.ok()) return std::move(*shrunk);
  ReportFailure(shrunk.failure(), diagnostics);
  return std::nullopt;
}

}  // namespace

int RunShrink(const driver::Options& options, const targets::Registry&) {
  namespace fs = std::filesystem;
  DiagnosticEngine diagnostics;
  fs::path name = fs::path(options.files[0]).stem();
  fs::path small = fs::path(options.output) / (name.string() + ".small.kdl");
  if (options.fails.empty())
    diagnostics.Report(driver::diag::OptionNeedsOption, {}, "kernelc shrink", "--fails");
  auto text = driver::ReadInputFile(options.files[0], syntax::kMaxBytes, diagnostics);
  std::optional<std::string> shrunk;
  bool ready = text && !diagnostics.has_errors() &&
               (options.output.empty() || driver::MakeFolder(options.output, diagnostics));
  if (ready && driver::MayWrite({small}, "name another folder after -o", diagnostics))
    shrunk = Shrink(options, *text, diagnostics);
  bool printed = true;
  if (shrunk && driver::WriteOutputFiles({{small, *shrunk}}, diagnostics)) {
    driver::AddJson("file", JsonText(nlohmann::json(small.string())));
    driver::AddJson("text", JsonText(nlohmann::json(*shrunk)));
    driver::AddJson("lines", fmt::to_string(LineCount(*shrunk)));
    driver::AddJson("lines_before", fmt::to_string(LineCount(*text)));
    printed = driver::PrintOutput(
        fmt::format("{}: {} of {} lines\n", small.string(), LineCount(*shrunk), LineCount(*text)));
  }
  driver::PrintDiagnostics(diagnostics, SourceManager());
  return printed ? driver::ExitCodeOf(diagnostics) : driver::kExitEnvironment;
}

}  // namespace kdl::tools
