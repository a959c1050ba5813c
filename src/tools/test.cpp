#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "driver/compile/stdlib.h"
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/report.h"
#include "support/arena.h"
#include "support/diagnostics.h"
#include "support/io.h"
#include "support/json_text.h"
#include "support/names.h"
#include "support/near_names.h"
#include "support/process.h"
#include "support/render.h"
#include "support/source.h"
#include "syntax/limits.h"
#include "syntax/parse.h"
#include "tools/commands.h"
#include "tools/loading/named_code.h"
#include "tools/suite/suite_run.h"
#include "tools/testing/contract_test.h"
#include "tools/testing/coverage.h"
#include "tools/testing/golden_run.h"
#include "tools/testing/test_names.h"
#include "tools/testing/test_targets.h"

namespace kdl::tools {

namespace {

namespace fs = std::filesystem;

bool MayBeGolden(const fs::path& path) {
  return path.extension() == ".kdl" || path.extension() == ".kir";
}

/// Returns the listed .kdl and .kir files, those in the listed folders, and the listed files of the
/// standard library, sorted by name.
std::vector<std::string> FindTestFiles(const driver::Options& options,
                                       DiagnosticEngine& diagnostics) {
  std::vector<std::string> files;
  for (const std::string& path : options.files) {
    std::error_code error;
    if (driver::ReportUnknownStdlibFile(path, diagnostics)) continue;
    if (driver::FindStdlibFile(path)) {
      files.push_back(path);
    } else if (!fs::exists(path, error)) {
      diagnostics.Report(driver::diag::NoSuchFile, {}, path);
    } else if (fs::is_regular_file(path, error)) {
      files.push_back(path);
    } else if (!fs::is_directory(path, error)) {
      diagnostics.Report(driver::diag::CannotRead, {}, path, "it is not a regular file");
    } else {
      for (auto entry = fs::recursive_directory_iterator(path, error);
           entry != fs::recursive_directory_iterator(); entry.increment(error)) {
        // Links to nothing are kept, so that they are reported.
        if (MayBeGolden(entry->path()) && !entry->is_directory(error))
          files.push_back(entry->path().string());
      }
    }
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  std::erase_if(files, [&](const std::string& file) {
    return file.find(options.filter) == std::string::npos;
  });
  return files;
}

/// The result of one file.
struct Outcome {
  TestCounts counts;
  bool updated = false;
  std::string report;  ///< the text to print; may be empty
  /// For --json, an object for each line of a table, or for a golden file.
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
};

/// Parses the line `3 passed, 1 failed` at the end of a run's output and removes it. Returns
/// nothing if the counts contradict the exit code of the run, because the tested code itself may
/// have printed such a line.
std::optional<TestCounts> TakeCounts(ProcessResult& ran) {
  std::string& text = ran.out;
  size_t line = text.size() < 2 ? std::string::npos : text.rfind('\n', text.size() - 2);
  line = line == std::string::npos ? 0 : line + 1;
  TestCounts counts;
  if (std::sscanf(text.c_str() + line, "%zu passed, %zu failed", &counts.passed, &counts.failed) !=
      2)
    return std::nullopt;
  int exit_code = counts.failed == 0 ? driver::kExitDone : driver::kExitInput;
  if (ran.signal != 0 || ran.timed_out || ran.exit_code != exit_code) return std::nullopt;
  text.resize(line);
  return counts;
}

/// Returns the rows of a file that has no table.
nlohmann::ordered_json RowOf(const std::string& file, std::string_view result) {
  nlohmann::ordered_json row = {{"file", file}, {"result", result}};
  return nlohmann::ordered_json::array({std::move(row)});
}

/// Returns the outcome of a file that could not be tested, or was not to the end.
Outcome Failed(const std::string& file, std::string report) {
  return {{0, 1}, false, std::move(report), RowOf(file, "failed")};
}

/// Returns the rows in the object that a process has written, or none.
nlohmann::ordered_json RowsIn(const std::string& path) {
  Result<std::string> text = ReadFile(path, kMostOfTool);
  if (!text.ok()) return nullptr;
  nlohmann::ordered_json object = nlohmann::ordered_json::parse(*text, nullptr, false);
  return object.is_object() ? object.value("rows", nlohmann::ordered_json()) : nullptr;
}

/// Tests the contracts of a file in a separate process, since errors in generated code may end the
/// process.
Outcome RunContracts(const std::string& file, const driver::Options& options,
                     const std::string& kernelc) {
  ProcessRequest request;
  request.words = {kernelc, "test", "--contracts", file};
  auto pass_on = [&](std::string_view option, const std::string& value) {
    request.words.push_back(fmt::format("--{}={}", option, value));
  };
  for (const std::string& target : options.target) pass_on("target", target);
  for (const std::string& device : options.device) pass_on("device", device);
  for (const std::string& define : options.define) pass_on("define", define);
  for (const std::string& size : options.set) pass_on("set", size);
  for (const std::string& choice : options.warnings) pass_on("warn", choice);
  if (options.allow_plugins) request.words.emplace_back("--allow-plugins");
  if (options.unproven) request.words.emplace_back("--unproven");
  if (!options.kernel.empty()) pass_on("kernel", options.kernel);
  if (options.seed) pass_on("seed", fmt::format("{}", *options.seed));
  if (options.core_num) pass_on("core-num", fmt::format("{}", *options.core_num));
  if (options.opt_level) pass_on("opt-level", fmt::format("{}", *options.opt_level));
  std::optional<TemporaryFolder> folder;
  if (options.json) {
    Result<TemporaryFolder> made = TemporaryFolder::Make();
    if (!made.ok()) return Failed(file, made.failure().message + "\n");
    folder.emplace(std::move(*made));
    pass_on("json", folder->path() + "/rows.json");
  }
  Result<ProcessResult> ran = RunProcess(request);
  if (!ran.ok()) return Failed(file, ran.failure().message + "\n");
  std::optional<TestCounts> counts = TakeCounts(*ran);
  if (counts && counts->passed + counts->failed == 0) return {};
  std::string text = fmt::format("{}\n{}{}", file, ran->out, ran->err);
  if (counts)
    return {*counts, false, text, folder ? RowsIn(folder->path() + "/rows.json") : nullptr};
  return Failed(file, text + fmt::format("FAILED: kernelc {}\nrerun: kernelc test --contracts {}\n",
                                         DescribeEnd(*ran, request), file));
}

/// Whether the file may contain something to test. If it does not, it is not compiled. Only
/// keywords are searched for, because blanks and comments may separate `test` from its name.
bool MentionsTests(std::string_view text) {
  auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  return has("ensures") || (has("test") && has("\""));
}

/// Returns the syntax errors of a file. A file with one may contain something to test.
std::string SyntaxErrors(const std::string& file, std::string text) {
  SourceManager sources;
  DiagnosticEngine diagnostics;
  Arena arena;
  Names names;
  FileId id = sources.Add(file, std::move(text));
  syntax::ParseFile(sources, id, arena, names, diagnostics);
  std::string errors;
  for (const auto& diagnostic : diagnostics.all())
    if (diagnostic->severity == Severity::Error) errors += RenderText(*diagnostic, sources, false);
  return errors;
}

Outcome RunFile(const std::string& file, const driver::Options& options,
                const GoldenSettings& settings) {
  if (driver::FindStdlibFile(file)) return RunContracts(file, options, settings.kernelc);
  GoldenOutcome golden = RunGolden(file, settings);
  switch (golden.end) {
    case GoldenEnd::Passed:
      return {{1, 0}, false, golden.report, RowOf(file, "passed")};
    case GoldenEnd::Skipped:
      return {{.skipped = 1}, false, golden.report, RowOf(file, "skipped")};
    case GoldenEnd::Failed:
      return Failed(file, golden.report + "\n");
    case GoldenEnd::Updated:
      return {{1, 0}, true, fmt::format("updated: {}\n", file), RowOf(file, "updated")};
    case GoldenEnd::NotGolden:
      break;
  }
  if (fs::path(file).extension() != ".kdl" || settings.update) return {};
  Result<std::string> text = ReadFile(file, syntax::kMaxBytes);
  if (!text.ok()) return Failed(file, text.failure().message + "\n");
  if (MentionsTests(*text)) return RunContracts(file, options, settings.kernelc);
  std::string errors = SyntaxErrors(file, std::move(*text));
  return errors.empty() ? Outcome{} : Failed(file, std::move(errors));
}

/// Tests the files on several threads. The outcomes are in the order of the files.
class FilePool {
 public:
  FilePool(const std::vector<std::string>& files, const driver::Options& options,
           const GoldenSettings& settings, size_t jobs)
      : files_(files), options_(options), settings_(settings), outcomes_(files.size()) {
    for (size_t i = 0; i < std::min(jobs, files.size()); ++i)
      workers_.emplace_back([this] { Work(); });
  }

  const Outcome& Wait(size_t file) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return outcomes_[file].has_value(); });
    return *outcomes_[file];
  }

 private:
  void Work() {
    for (size_t file = next_++; file < files_.size(); file = next_++) {
      Outcome outcome = RunFile(files_[file], options_, settings_);
      std::lock_guard lock(mutex_);
      outcomes_[file] = std::move(outcome);
      done_.notify_all();
    }
  }

  const std::vector<std::string>& files_;
  const driver::Options& options_;
  const GoldenSettings& settings_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<std::optional<Outcome>> outcomes_;
  std::atomic<size_t> next_ = 0;
  std::vector<std::jthread> workers_;
};

/// Shows progress such as `12 of 80` on a terminal, beginning one second after the start.
class Progress {
 public:
  void Show(size_t done, size_t all) {
    if (!terminal_ || std::chrono::steady_clock::now() - start_ < std::chrono::seconds(1)) return;
    driver::PrintAside(fmt::format("\r{} of {}\x1b[K", done, all));
    shown_ = true;
  }
  void Clear() {
    if (shown_) driver::PrintAside("\r\x1b[K");
    shown_ = false;
  }

 private:
  bool terminal_ = ErrorsGoToTerminal();
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

TestCounts RunAll(const std::vector<std::string>& files, const driver::Options& options,
                  const GoldenSettings& settings, size_t jobs, nlohmann::ordered_json& rows) {
  TestCounts counts;
  Progress progress;
  FilePool pool(files, options, settings, jobs);
  for (size_t i = 0; i < files.size(); ++i) {
    progress.Show(i, files.size());
    const Outcome& outcome = pool.Wait(i);
    counts.passed += outcome.counts.passed;
    counts.failed += outcome.counts.failed;
    counts.skipped += outcome.counts.skipped;
    for (const nlohmann::ordered_json& row : outcome.rows) rows.push_back(row);
    if (outcome.report.empty()) continue;
    progress.Clear();
    driver::PrintOutput(outcome.report);
  }
  progress.Clear();
  return counts;
}

size_t JobsOf(const driver::Options& options) {
  if (options.jobs) return static_cast<size_t>(*options.jobs);
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

int RunTest(const driver::Options& options, const targets::Registry& families) {
  if (!options.suite.empty()) return RunSuite(options);
  DiagnosticEngine diagnostics;
  std::vector<std::string> files = FindTestFiles(options, diagnostics);
  driver::AddInputs(files);
  driver::MayWrite({}, {}, diagnostics);
  if (!diagnostics.has_errors() && options.coverage) {
    return driver::PrintOutput(CoverageReport(files, families)) ? driver::kExitDone
                                                                : driver::kExitEnvironment;
  }
  TestCounts counts;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  if (!diagnostics.has_errors() && options.contracts) {
    for (const std::string& file : files) {
      TestCounts of_file = TestContracts(options, families, file, rows);
      counts.passed += of_file.passed;
      counts.failed += of_file.failed;
    }
  } else if (!diagnostics.has_errors()) {
    std::error_code error;
    GoldenSettings settings{fs::read_symlink("/proc/self/exe", error).string(), options.update};
    if (!options.allow_plugins) {
      settings.runs_code = [&](std::string_view word) {
        return word == "--allow-plugins" || !CodeFilesIn(word, families).empty();
      };
    }
    settings.lacks_target = [&](std::string_view word) { return LacksProcessor(word, families); };
    counts = RunAll(files, options, settings, JobsOf(options), rows);
    bool found = counts.passed + counts.failed + counts.skipped != 0;
    bool asks = !found && !options.kernel.empty() && files.size() == 1 &&
                fs::path(files[0]).extension() == ".kdl";
    if (!found && (!asks || KnowsKernel(files[0], options, families, diagnostics))) {
      std::vector<std::string_view> names(options.files.begin(), options.files.end());
      diagnostics.Report(driver::diag::NoTestFiles, {}, QuotedList(names))
          .Help(files.empty() && !options.filter.empty()
                    ? fmt::format("no path there contains '{}'; --filter expects a part of a path",
                                  options.filter)
                    : "add `ensures` to a kernel, add an item `test \"…\" { … }`, or make the file "
                      "a golden file with a line `//! args: build --emit ir`");
    }
  }
  if (diagnostics.has_errors()) {
    driver::PrintDiagnostics(diagnostics, SourceManager());
    return driver::ExitCodeOf(diagnostics);
  }
  std::string skipped = counts.skipped ? fmt::format(", {} skipped", counts.skipped) : "";
  driver::AddJson("passed", fmt::to_string(counts.passed));
  driver::AddJson("failed", fmt::to_string(counts.failed));
  driver::AddJson("skipped", fmt::to_string(counts.skipped));
  driver::AddJson("rows", JsonText(rows));
  bool printed = driver::PrintOutput(
      fmt::format("{} passed, {} failed{}\n", counts.passed, counts.failed, skipped));
  if (!printed) return driver::kExitEnvironment;
  return counts.failed == 0 ? driver::kExitDone : driver::kExitInput;
}

}  // namespace kdl::tools
