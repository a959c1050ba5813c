#include "tools/testing/golden_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

#include "support/io.h"
#include "support/process.h"
#include "support/result.h"
#include "syntax/limits.h"
#include "tools/testing/golden_file.h"
#include "tools/testing/text_diff.h"

namespace kdl::tools {

namespace {

namespace fs = std::filesystem;

/// The maximum number of times that a file is rewritten. Adding annotations moves lines, which
/// changes output that contains line numbers.
constexpr int kMostRewrites = 5;

/// The maximum depth to which golden files run golden files. A file whose command is `kernelc test` can run itself.
constexpr int kMostNested = 3;
constexpr const char* kNested = "KERNELC_GOLDEN_DEPTH";

/// A golden file on disk.
struct Case {
  std::string path;
  std::string name;  ///< file name without the folder
  std::string text;
  GoldenFile file;
};

struct Ran {
  ProcessResult process;
  GoldenActual actual;
  std::string fault;  ///< an error that fails the test regardless of the expected output
};

std::string CommandLine(const GoldenCommand& command) {
  std::string text = "kernelc";
  for (const std::string& word : command.words) {
    bool plain = !word.empty() && word.find_first_of(" '\"$*?&|;<>()`\\") == std::string::npos;
    text += plain ? fmt::format(" {}", word) : fmt::format(" '{}'", word);
  }
  return text;
}

std::set<std::string> FilesIn(const std::string& folder) {
  std::set<std::string> files;
  std::error_code ignored;
  for (auto entry = fs::recursive_directory_iterator(folder, ignored);
       entry != fs::recursive_directory_iterator(); entry.increment(ignored)) {
    if (!entry->is_directory(ignored))
      files.insert(entry->path().string().substr(folder.size() + 1));
  }
  return files;
}

/// Fills the private folder with the source file, without its output sections, and its companions.
Status Fill(const Case& test, const std::string& folder) {
  Status written = WriteFileWhole(folder + "/" + test.name, CompilerInput(test.file));
  for (const std::string& companion : test.file.companions) {
    if (!written.ok()) return written;
    std::error_code error;
    fs::path copy = fs::path(folder) / companion;
    fs::create_directories(copy.parent_path(), error);
    fs::copy(fs::path(test.path).parent_path() / companion, copy, error);
    if (error) return Failure{fmt::format("'//! files: {}': {}", companion, error.message())};
  }
  return written;
}

// -- Printing and parsing round trips ------------------------------------------------------------

bool HasWord(const GoldenCommand& command, std::string_view word) {
  return std::find(command.words.begin(), command.words.end(), word) != command.words.end();
}

/// Returns whether the command prints KIR that can be parsed.
bool PrintsIr(const GoldenCommand& command) {
  if (HasWord(command, "--expressions")) return false;
  auto is = [](const std::string& word, std::string_view option) {
    return word == option || word.starts_with(fmt::format("{}=", option));
  };
  const auto& words = command.words;
  for (size_t i = 0; i < words.size(); ++i) {
    if (is(words[i], "--print-after")) return true;
    if (words[i] == "--emit=ir" ||
        (words[i] == "--emit" && i + 1 < words.size() && words[i + 1] == "ir"))
      return true;
  }
  return false;
}

/// Returns the modules in a command's output. A line `// after PASS` starts a module, unless the
/// output of that phase is a syntax tree, as after `parse`.
std::vector<std::string> ModulesIn(std::string_view out) {
  constexpr std::string_view kAfter = "// after ";
  std::vector<std::string> modules(1);
  bool is_tree = false;
  while (!out.empty()) {
    std::string_view line = out.substr(0, std::min(out.find('\n'), out.size() - 1) + 1);
    out.remove_prefix(line.size());
    if (line.starts_with(kAfter)) {
      is_tree = line.ends_with(" parse\n") || line.ends_with(" sema\n");
      modules.emplace_back();
    } else if (!is_tree) {
      modules.back() += line;
    }
  }
  std::erase_if(modules, [](const std::string& module) { return module.empty(); });
  return modules;
}

/// Returns how `text` changes when it is parsed and printed again, or an empty string if it does
/// not change.
std::string RoundTripFault(const std::string& text, const GoldenCommand& command,
                           const GoldenSettings& settings, const std::string& folder) {
  std::string path = folder + "/round-trip.kir";
  Status written = WriteFileWhole(path, text);
  if (!written.ok()) return written.failure().message;
  ProcessRequest request;
  request.words = {settings.kernelc,     "build",         "--emit", "ir", "--trust-ir",
                   "--stop-after=irgen", "round-trip.kir"};
  if (HasWord(command, "--locs")) request.words.insert(request.words.begin() + 2, "--locs");
  request.folder = folder;
  request.deadline_s = settings.deadline_s;
  Result<ProcessResult> again = RunProcess(request);
  std::error_code ignored;
  fs::remove(path, ignored);
  if (!again.ok()) return again.failure().message;
  if (!again->ok()) {
    return fmt::format("the KIR above cannot be read back: kernelc {}\n{}",
                       DescribeEnd(*again, request), again->err);
  }
  std::string diff = UnifiedDiff(text, again->out, "printed", "printed, read and printed again");
  return diff.empty() ? diff : "KIR changes when it is read back:\n" + diff;
}

std::string CheckRoundTrips(const Case& test, const GoldenCommand& command,
                            const GoldenSettings& settings, const std::string& folder,
                            const Ran& ran) {
  std::vector<std::string> modules;
  if (PrintsIr(command)) modules = ModulesIn(ran.actual.out);
  for (const std::string& file : FilesIn(folder)) {
    bool written = file.ends_with(".kir") && file != test.name;
    Result<std::string> text =
        written ? ReadFile(folder + "/" + file, kMostOfTool) : Result<std::string>(std::string());
    if (written && text.ok()) modules.push_back(*text);
  }
  for (const std::string& module : modules) {
    std::string fault = RoundTripFault(module, command, settings, folder);
    if (!fault.empty()) return fault;
  }
  return {};
}

// -- One command ---------------------------------------------------------------------------------

/// Runs the command on the unmodified file.
Result<Ran> RunCommand(const Case& test, const GoldenCommand& command,
                       const GoldenSettings& settings) {
  auto code = std::ranges::find_if(command.words, settings.runs_code);
  if (code != command.words.end())
    return Failure{
        fmt::format("'{}' runs code that the file names; allow it with --allow-plugins", *code)};
  const char* nested = std::getenv(kNested);
  int depth = nested ? std::atoi(nested) : 0;
  if (depth == kMostNested) return Failure{"golden files run golden files without end"};
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  if (!folder.ok()) return folder.failure();
  Status filled = Fill(test, folder->path());
  if (!filled.ok()) return filled.failure();
  std::set<std::string> before = FilesIn(folder->path());

  ProcessRequest request;
  request.words = command.words;
  request.words.insert(request.words.begin(), settings.kernelc);
  request.folder = folder->path();
  request.environment = {fmt::format("{}={}", kNested, depth + 1)};
  request.deadline_s = settings.deadline_s;
  Result<ProcessResult> process = RunProcess(request);
  if (!process.ok()) return process.failure();

  Ran ran{std::move(*process), {}, {}};
  ran.actual.out = ran.process.out;
  ran.actual.err = ran.process.err;
  bool ended = ran.process.signal == 0 && !ran.process.timed_out;
  if (!ended || ran.process.exit_code != test.file.exit_code) {
    ran.fault =
        fmt::format("kernelc {}, expected exit code {}\n{}", DescribeEnd(ran.process, request),
                    test.file.exit_code, ran.process.err);
    return ran;
  }
  std::set<std::string> outputs;
  for (const GoldenSection& section : test.file.sections) outputs.insert(section.output());
  for (const std::string& output : outputs) {
    Result<std::string> text = ReadFile(folder->path() + "/" + output, kMostOfTool);
    if (text.ok()) ran.actual.files.push_back({output, std::move(*text)});
  }
  if (ran.process.exit_code != 0) {
    for (const std::string& file : FilesIn(folder->path())) {
      if (!before.contains(file))
        ran.fault += fmt::format("the command failed and left '{}' after\n", file);
    }
  } else {
    ran.fault = CheckRoundTrips(test, command, settings, folder->path(), ran);
  }
  return ran;
}

GoldenOutcome Fail(const std::string& path, std::string_view command, std::string_view what) {
  std::string report = fmt::format("FAILED: {}\n", path);
  if (!command.empty()) report += fmt::format("{}\n", command);
  report += what;
  if (!report.ends_with('\n')) report += '\n';
  return {GoldenEnd::Failed, report + fmt::format("rerun: kernelc test {}\n", path)};
}

/// Whether the command should run code for a target that this machine lacks. Building for such a target is possible.
bool CannotRun(const Case& test, const GoldenCommand& command, const GoldenSettings& settings) {
  constexpr std::array kRunning = {"run", "test", "bench"};
  bool runs = test.file.exit_code == 0 && !command.words.empty() &&
              std::ranges::find(kRunning, command.words[0]) != kRunning.end();
  return runs && std::ranges::any_of(command.words, settings.lacks_target);
}

/// Runs the commands until one of them does not produce the expected output.
GoldenOutcome Compare(const Case& test, const GoldenSettings& settings) {
  size_t skipped = 0;
  std::string report;
  for (const GoldenCommand& command : test.file.commands) {
    if (CannotRun(test, command, settings)) {
      ++skipped;
      report +=
          fmt::format("skipped, since this processor cannot run it: {}\n", CommandLine(command));
      continue;
    }
    Result<Ran> ran = RunCommand(test, command, settings);
    if (!ran.ok()) return Fail(test.path, CommandLine(command), ran.failure().message);
    if (!ran->fault.empty()) return Fail(test.path, CommandLine(command), ran->fault);
    std::string actual = FormatGolden(WithActual(test.file, ran->actual, test.name));
    std::string diff = UnifiedDiff(FormatGolden(test.file), actual, test.path, "actual");
    if (!diff.empty()) return Fail(test.path, CommandLine(command), diff);
  }
  return {skipped == test.file.commands.size() ? GoldenEnd::Skipped : GoldenEnd::Passed, report};
}

/// Rewrites the file with the output of its first command until the file no longer changes.
GoldenOutcome Update(Case& test, const GoldenSettings& settings) {
  std::string original = test.text;
  for (int i = 0; i < kMostRewrites; ++i) {
    Result<Ran> ran = RunCommand(test, test.file.commands[0], settings);
    if (!ran.ok())
      return Fail(test.path, CommandLine(test.file.commands[0]), ran.failure().message);
    if (!ran->fault.empty()) return Fail(test.path, CommandLine(test.file.commands[0]), ran->fault);
    std::string actual = FormatGolden(WithActual(test.file, ran->actual, test.name));
    if (actual == test.text) break;
    Result<std::optional<GoldenFile>> parsed = ParseGolden(actual, test.name);
    if (!parsed.ok() || !*parsed)
      return Fail(test.path, "", "the rewritten file is not a golden file");
    test.text = actual;
    test.file = std::move(**parsed);
  }
  GoldenOutcome outcome = Compare(test, settings);
  if (outcome.end != GoldenEnd::Passed || test.text == original) return outcome;
  Status written = WriteFileWhole(test.path, test.text);
  if (!written.ok()) return Fail(test.path, "", written.failure().message);
  return {GoldenEnd::Updated, {}};
}

}  // namespace

GoldenOutcome RunGolden(const std::string& path, const GoldenSettings& settings) {
  Result<std::string> text = ReadFile(path, syntax::kMaxBytes);
  if (!text.ok()) return Fail(path, "", text.failure().message);
  std::string name = fs::path(path).filename().string();
  Result<std::optional<GoldenFile>> parsed = ParseGolden(*text, name);
  if (!parsed.ok()) return Fail(path, "", parsed.failure().message);
  if (!*parsed) return {GoldenEnd::NotGolden, {}};
  Case test{path, name, std::move(*text), std::move(**parsed)};
  return settings.update ? Update(test, settings) : Compare(test, settings);
}

}  // namespace kdl::tools
