#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/report.h"
#include "support/diagnostics.h"
#include "support/near_names.h"
#include "support/source.h"
#include "tools/commands.h"
#include "tools/coverage.h"
#include "tools/golden_run.h"

namespace kdl::tools {

namespace {

namespace fs = std::filesystem;

bool MayBeGolden(const fs::path& path) {
  return path.extension() == ".kdl" || path.extension() == ".kir";
}

/// The .kdl and .kir files among `paths` and below the folders among them, in order of their names.
std::vector<std::string> FilesOf(const driver::Options& options, DiagnosticEngine& diagnostics) {
  std::vector<std::string> files;
  for (const std::string& path : options.files) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      diagnostics.Report(driver::diag::NoSuchFile, {}, path);
    } else if (!fs::is_directory(path, error)) {
      files.push_back(path);
    } else {
      for (auto entry = fs::recursive_directory_iterator(path, error);
           entry != fs::recursive_directory_iterator(); entry.increment(error)) {
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

/// Runs the files on several threads and hands the outcomes out in the files' order.
class GoldenPool {
 public:
  GoldenPool(const std::vector<std::string>& files, const GoldenSettings& settings, size_t jobs)
      : files_(files), settings_(settings), outcomes_(files.size()) {
    for (size_t i = 0; i < std::min(jobs, files.size()); ++i)
      workers_.emplace_back([this] { Work(); });
  }

  const GoldenOutcome& Wait(size_t file) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return outcomes_[file].has_value(); });
    return *outcomes_[file];
  }

 private:
  void Work() {
    for (size_t file = next_++; file < files_.size(); file = next_++) {
      GoldenOutcome outcome = RunGolden(files_[file], settings_);
      std::lock_guard lock(mutex_);
      outcomes_[file] = std::move(outcome);
      done_.notify_all();
    }
  }

  const std::vector<std::string>& files_;
  const GoldenSettings& settings_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<std::optional<GoldenOutcome>> outcomes_;
  std::atomic<size_t> next_ = 0;
  std::vector<std::jthread> workers_;
};

/// `12 of 80` on a terminal, once the work has lasted a second; nothing elsewhere.
class Progress {
 public:
  void Show(size_t done, size_t all) {
    if (!terminal_ || std::chrono::steady_clock::now() - start_ < std::chrono::seconds(1)) return;
    fmt::print(stderr, "\r{} of {}\x1b[K", done, all);
    shown_ = true;
  }
  void Clear() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
    shown_ = false;
  }

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct Counts {
  size_t passed = 0;
  size_t failed = 0;
  size_t updated = 0;
};

Counts RunAll(const std::vector<std::string>& files, const GoldenSettings& settings, size_t jobs) {
  Counts counts;
  Progress progress;
  GoldenPool pool(files, settings, jobs);
  for (size_t i = 0; i < files.size(); ++i) {
    progress.Show(i, files.size());
    const GoldenOutcome& outcome = pool.Wait(i);
    counts.passed += outcome.end == GoldenEnd::Passed || outcome.end == GoldenEnd::Updated ? 1 : 0;
    counts.failed += outcome.end == GoldenEnd::Failed ? 1 : 0;
    counts.updated += outcome.end == GoldenEnd::Updated ? 1 : 0;
    if (outcome.end == GoldenEnd::Passed || outcome.end == GoldenEnd::NotGolden) continue;
    progress.Clear();
    driver::PrintOutput(outcome.end == GoldenEnd::Updated ? fmt::format("updated: {}\n", files[i])
                                                          : fmt::format("{}\n", outcome.report));
  }
  progress.Clear();
  return counts;
}

size_t JobsOf(const driver::Options& options) {
  if (options.jobs) return static_cast<size_t>(*options.jobs);
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

int RunTest(const driver::Options& options) {
  DiagnosticEngine diagnostics;
  std::vector<std::string> files = FilesOf(options, diagnostics);
  if (!diagnostics.has_errors() && options.coverage) {
    return driver::PrintOutput(CoverageReport(files)) ? driver::kExitDone
                                                      : driver::kExitEnvironment;
  }
  Counts counts;
  if (!diagnostics.has_errors()) {
    std::error_code error;
    GoldenSettings settings{fs::read_symlink("/proc/self/exe", error).string(), options.update};
    counts = RunAll(files, settings, JobsOf(options));
    if (counts.passed + counts.failed == 0) {
      std::vector<std::string_view> names(options.files.begin(), options.files.end());
      diagnostics.Report(driver::diag::NoTestFiles, {}, QuotedList(names))
          .Help(files.empty() && !options.filter.empty()
                    ? fmt::format("no path there contains '{}': --filter takes a part of a path",
                                  options.filter)
                    : "a golden file has a line `//! args: build --emit ir`");
    }
  }
  if (diagnostics.has_errors()) {
    driver::PrintDiagnostics(diagnostics, SourceManager(), options.diag_format);
    return driver::ExitCodeOf(diagnostics);
  }
  bool printed =
      driver::PrintOutput(fmt::format("{} passed, {} failed\n", counts.passed, counts.failed));
  if (!printed) return driver::kExitEnvironment;
  return counts.failed == 0 ? driver::kExitDone : driver::kExitInput;
}

}  // namespace kdl::tools
