#include "tools/suite/suite_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/report.h"
#include "driver/run/devices.h"
#include "support/io.h"
#include "support/machine.h"
#include "support/process.h"
#include "targets/kinds.h"
#include "tools/suite/problem_run.h"
#include "tools/suite/suite_file.h"
#include "tools/suite/suite_row.h"
#include "tools/timing/measure_options.h"
#include "tools/timing/roofline.h"

namespace kdl::tools {

namespace {

constexpr size_t kMostLogBytes = size_t{64} << 20;

/// A part of the problems: those whose number has the remainder `number - 1` modulo `of`.
struct Shard {
  size_t number = 1;
  size_t of = 1;
};

std::optional<Shard> ParseShard(const std::string& text) {
  Shard shard;
  const char* end = text.data() + text.size();
  auto [slash, first] = std::from_chars(text.data(), end, shard.number);
  if (first != std::errc() || slash == end || *slash != '/') return std::nullopt;
  auto [rest, second] = std::from_chars(slash + 1, end, shard.of);
  bool fits = second == std::errc() && rest == end && shard.number >= 1 && shard.number <= shard.of;
  return fits ? std::optional(shard) : std::nullopt;
}

class SuiteRun {
 public:
  explicit SuiteRun(const driver::Options& options)
      : options_(options), settings_{.options = options} {}

  int RunAll() {
    std::optional<Suite> suite = Prepare();
    if (!suite) return End();
    std::vector<const SuiteProblem*> problems = Chosen(*suite);
    if (problems.empty() && !diagnostics_.has_errors())
      diagnostics_.Report(driver::diag::NoProblems, {}, options_.suite);
    if (diagnostics_.has_errors()) return End();
    table_ = TableOf(problems);
    driver::PrintOutput(SuiteHead(table_));
    for (size_t i = 0; i < problems.size(); ++i) {
      if (!RunOne(*suite, *problems[i], i, problems.size())) return End();
    }
    driver::PrintOutput(SuiteSummary(rows_));
    Write();
    if (diagnostics_.has_errors()) return End();
    bool right = std::ranges::all_of(
        rows_, [](const SuiteRow& row) { return row.verdict == Verdict::Right; });
    return right ? driver::kExitDone : driver::kExitInput;
  }

 private:
  SuiteTable TableOf(const std::vector<const SuiteProblem*>& problems) const {
    SuiteTable table{settings_.times, std::string_view("problem").size()};
    for (const SuiteProblem* problem : problems)
      table.name_width = std::max(table.name_width, problem->name.size());
    return table;
  }

  int End() {
    driver::PrintDiagnostics(diagnostics_, sources_);
    return driver::ExitCodeOf(diagnostics_);
  }

  /// Reads the options, the suite and the log.
  std::optional<Suite> Prepare() {
    settings_.times = options_.command == driver::Command::Bench;
    std::optional<std::string> target = driver::OnlyTarget(options_, diagnostics_);
    if (!target) return std::nullopt;
    settings_.target = target->empty() ? std::string(targets::kOwnKind) : *target;
    int all = static_cast<int>(AllowedProcessors().size());
    auto threads = ThreadCounts(options_, settings_.target, {all}, diagnostics_);
    if (!threads) return std::nullopt;
    settings_.threads = threads->back();
    if (threads->size() > 1)
      diagnostics_.Report(driver::diag::BadOptionValue, {}, "--threads", options_.threads,
                          "one number");
    if (!options_.shard.empty() && !ParseShard(options_.shard))
      diagnostics_.Report(driver::diag::BadOptionValue, {}, "--shard", options_.shard,
                          "a part such as 2/8");
    std::error_code error;
    settings_.kernelc = std::filesystem::read_symlink("/proc/self/exe", error).string();
    settings_.python = FindProgram({"python3"});
    std::optional<Suite> suite = ReadSuite(options_.suite, sources_, diagnostics_);
    if (suite) AddSuiteInputs(*suite);
    if (!suite || diagnostics_.has_errors() || !MayWriteFiles() || !ReadLog()) return std::nullopt;
    return suite;
  }

  /// Adds the files that the suite names to the inputs. Other processes read them.
  static void AddSuiteInputs(const Suite& suite) {
    driver::AddInputs({suite.peers});
    for (const SuiteProblem& problem : suite.problems) driver::AddInputs({problem.file});
  }

  /// Whether the files that are written differ from each other and from the suite's own.
  bool MayWriteFiles() {
    std::vector<std::string> written;
    for (const std::string& path : {options_.plot, options_.resume}) {
      if (!path.empty()) written.push_back(path);
    }
    return driver::MayWrite(written, "name another file after --plot or --resume", diagnostics_);
  }

  /// Reads the rows that an earlier run has written to the file of --resume.
  bool ReadLog() {
    std::error_code missing;
    if (options_.resume.empty() || !std::filesystem::exists(options_.resume, missing)) return true;
    auto text = driver::ReadRewrittenFile(options_.resume, kMostLogBytes, diagnostics_);
    if (!text) return false;
    for (size_t begin = 0; begin < text->size();) {
      size_t end = std::min(text->find('\n', begin), text->size());
      if (auto row = ParseRow(std::string_view(*text).substr(begin, end - begin)))
        known_.push_back(std::move(*row));
      begin = end + 1;
    }
    return true;
  }

  std::vector<const SuiteProblem*> Chosen(const Suite& suite) const {
    Shard shard = ParseShard(options_.shard).value_or(Shard());
    std::vector<const SuiteProblem*> chosen;
    size_t number = 0;
    for (const SuiteProblem& problem : suite.problems) {
      if (problem.name.find(options_.filter) == std::string::npos) continue;
      if (number++ % shard.of == shard.number - 1) chosen.push_back(&problem);
    }
    return chosen;
  }

  /// Returns the row of an earlier run with the same options, unless it says that the problem could not run.
  const SuiteRow* Known(const SuiteProblem& problem) const {
    SuiteRow key = KeyOf(problem, settings_);
    for (const SuiteRow& row : known_) {
      if (row.problem == key.problem && row.sizes == key.sizes && row.target == key.target &&
          row.threads == key.threads && row.options == key.options && IsJudged(row) &&
          (row.times.has_value() == settings_.times || row.verdict != Verdict::Right))
        return &row;
    }
    return nullptr;
  }

  static bool IsJudged(const SuiteRow& row) {
    return row.verdict == Verdict::Right || row.verdict == Verdict::Wrong ||
           row.verdict == Verdict::Weak;
  }

  bool RunOne(const Suite& suite, const SuiteProblem& problem, size_t number, size_t of) {
    const SuiteRow* known = Known(problem);
    if (!known && ErrorsGoToTerminal())
      driver::PrintAside(fmt::format("\r{} of {}: {}\x1b[K", number + 1, of, problem.name));
    rows_.push_back(known ? *known : RunProblem(suite, problem, settings_));
    if (!known && ErrorsGoToTerminal()) driver::PrintAside("\r\x1b[K");
    if (!known && !options_.resume.empty()) {
      log_ += RowJson(rows_.back());
      if (!WriteLog()) return false;
    }
    return driver::PrintOutput(SuiteLine(rows_.back(), table_));
  }

  /// Writes the rows of earlier runs and the new ones, so that an interruption loses at most one row.
  bool WriteLog() {
    std::string text;
    for (const SuiteRow& row : known_) text += RowJson(row);
    return driver::WriteOutputFiles({{options_.resume, text + log_}}, diagnostics_);
  }

  void Write() {
    driver::AddJson("rows", SuiteJson(rows_));
    if (options_.plot.empty()) return;
    driver::WriteOutputFiles({{options_.plot, RooflineSvg(TimesOf(rows_), TitleForNow())}},
                             diagnostics_);
  }

  const driver::Options& options_;
  SuiteSettings settings_;
  SourceManager sources_;
  DiagnosticEngine diagnostics_;
  std::vector<SuiteRow> known_;
  std::string log_;
  SuiteTable table_;
  std::vector<SuiteRow> rows_;
};

}  // namespace

int RunSuite(const driver::Options& options) { return SuiteRun(options).RunAll(); }

}  // namespace kdl::tools
