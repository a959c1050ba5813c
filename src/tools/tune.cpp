#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/compile/output_names.h"
#include "driver/compile/stdlib.h"
#include "driver/compile/tuned.h"
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/report.h"
#include "driver/run/devices.h"
#include "driver/run/select.h"
#include "support/folder_lock.h"
#include "support/io.h"
#include "support/json_text.h"
#include "tools/commands.h"
#include "tools/measure/trials.h"
#include "tools/timing/measure_options.h"
#include "tools/timing/placed_kernel.h"
#include "tools/timing/selected_tiles.h"
#include "tools/timing/tile_search.h"

// kernelc tune: measures neighbours of the tile sizes that the selector chooses, alternating with
// measurements of the chosen sizes. The results are kept in a text file that is rewritten after
// each trial, so that an interruption loses at most one trial.

namespace kdl::tools {

namespace {

using driver::Tiles;
using driver::TunedKernel;

/// Shows the progress of the search as a single line on a terminal.
class SearchProgress {
 public:
  void Show(const TunedKernel& kernel, const Tiles& tiles, size_t number, size_t of) {
    if (!on_terminal_) return;
    constexpr size_t kWidth = 20;
    size_t done = kWidth * number / of;
    const TunedKernel::Trial* best = kernel.Best();
    std::string line = fmt::format("{} [{:#<{}}{:.<{}}] {} tried, best {:.2f}, now {}",
                                   kernel.kernel, "", done, "", kWidth - done, kernel.trials.size(),
                                   best ? best->gain : 1.0, driver::TilesText(tiles));
    driver::PrintAside(fmt::format("\r{}\x1b[K", line));
    shown_ = true;
  }
  void End() {
    if (shown_) driver::PrintAside("\r\x1b[K");
    shown_ = false;
  }

 private:
  bool on_terminal_ = ErrorsGoToTerminal();
  bool shown_ = false;
};

/// Whether the tensors are equal. All NaNs count as equal.
bool Agree(const std::vector<driver::HostTensor>& a, const std::vector<driver::HostTensor>& b) {
  return std::ranges::equal(a, b, [](const driver::HostTensor& x, const driver::HostTensor& y) {
    if (x.bytes == y.bytes) return true;
    auto count = driver::ElementCount(x.scalar, x.shape).value_or(0);
    for (int64_t n = 0; n < count; ++n) {
      uint64_t left = driver::ElementBits(x, n);
      uint64_t right = driver::ElementBits(y, n);
      bool both = driver::IsNaN(x.scalar, left) && driver::IsNaN(y.scalar, right);
      if (left != right && !both) return false;
    }
    return true;
  });
}

/// Returns the first line of a message, because the tuning file has only one line for each trial.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string FirstError(const DiagnosticEngine& diagnostics) {
  for (const auto& one : diagnostics.all()) {
    if (one->severity == Severity::Error) return FirstLine(one->text);
  }
  return "it does not run";
}

struct RunFailed {
  Failure failure;
};

/// Returns the path of the result without --tuned: next to the source, or, for a library file, in
/// the current folder.
std::string DefaultPath(const driver::Options& options) {
  const std::filesystem::path file = options.files[0];
  if (driver::FindStdlibFile(file.string())) return driver::ModuleName(options) + ".tuned";
  return std::filesystem::path(file).replace_extension(".tuned").string();
}

class Tuning {
 public:
  Tuning(const driver::Options& options, const targets::Registry& families)
      : options_(options), families_(families), session_(options_, families) {
    options_.tuned.clear();
    path_ = options.tuned.empty() ? DefaultPath(options) : options.tuned;
  }

  int TuneAll() {
    std::vector<ir::Function*> kernels = List();
    for (const ir::Function* kernel : kernels) {
      bool among_several = kernels.size() > 1;
      if (int code = RunOne(*kernel, among_several); code != driver::kExitDone) return code;
    }
    return driver::Finish(session_);
  }

 private:
  /// Returns the kernels to tune, and reads their entries in the tuning file. On error, reports it
  /// and returns nothing.
  std::vector<ir::Function*> List() {
    auto spec = driver::OnlyTarget(options_, session_.diagnostics);
    if (!spec) return {};
    listed_ = driver::Compile(session_, {.until = driver::Until::Ir});
    if (!listed_.ok()) return {};
    spec_ = driver::PlaceOfKernel(*listed_.module, *spec, options_);
    if (!ReadThreads() || !CanMeasure(options_, session_.diagnostics)) return {};
    if (!driver::MayWrite({path_}, "name another file after --tuned", session_.diagnostics) ||
        !ReadKnown())
      return {};
    return driver::SelectKernels(*listed_.module, options_.files[0], options_,
                                 session_.diagnostics);
  }

  /// Reads --threads, which must be a single number.
  bool ReadThreads() {
    auto counts = ThreadCounts(options_, spec_, {1}, session_.diagnostics);
    if (!counts) return false;
    threads_ = counts->front();
    if (counts->size() > 1)
      session_.diagnostics.Report(driver::diag::BadOptionValue, {}, "--threads", options_.threads,
                                  "one number");
    return counts->size() == 1;
  }

  bool ReadKnown() {
    auto known = ReadEntries();
    if (known) known_ = std::move(*known);
    return known.has_value();
  }

  /// Returns the entries of the tuning file, or none if it does not exist. Reports errors.
  std::optional<std::vector<TunedKernel>> ReadEntries() {
    constexpr size_t kMostBytes = size_t{16} << 20;
    // The error is reported later, when the file is read.
    std::error_code ignored;
    if (std::filesystem::status(path_, ignored).type() == std::filesystem::file_type::not_found)
      return std::vector<TunedKernel>();
    auto text = driver::ReadRewrittenFile(path_, kMostBytes, session_.diagnostics);
    return text ? driver::ReadTuned(path_, *text, session_.diagnostics) : std::nullopt;
  }

  /// Tunes a kernel. On failure, reports it. Returns the exit code.
  int RunOne(const ir::Function& function, bool among_several) {
    const std::string name = function.name.str();
    driver::Options own = among_several ? OptionsFor(options_, function) : options_;
    std::string spec =
        MeansHost(spec_) ? WithKey(spec_, fmt::format("threads={}", threads_)) : spec_;
    PlacedKernel chosen(own, families_, name, spec);
    if (!chosen.ok()) return driver::Finish(chosen.session());
    const driver::TargetCode* level = chosen.level();
    if (chosen.facts().functional != 0 || !level) {
      session_.diagnostics.Report(driver::diag::NoTimes, {}, spec_);
      return driver::Finish(session_);
    }
    std::optional<SelectedTiles> tiles = FindSelectedTiles(name, level->target);
    if (!tiles) return NothingToTune(name, among_several);
    auto written = chosen.Written();
    if (!written.ok()) {
      driver::ReportFailure(written.failure(), session_.sources, session_.diagnostics);
      return driver::Finish(session_);
    }
    TunedKernel& kernel = FindOrAddEntry(*tiles, chosen.Sizes());
    Search(*tiles, kernel, chosen, *written, own, LevelSpec(level->target));
    progress_.End();
    // The search also ends when the file cannot be written.
    if (session_.diagnostics.has_errors() || !Write()) return driver::Finish(session_);
    AddResult(kernel);
    return driver::PrintOutput(Summary(kernel)) ? driver::kExitDone : driver::kExitEnvironment;
  }

  /// Adds a kernel to the object of --json: the chosen constants, and what was measured for all that were tried.
  void AddResult(const TunedKernel& kernel) {
    const TunedKernel::Trial* best = kernel.Best();
    nlohmann::ordered_json row = {
        {"kernel", kernel.kernel},        {"level", kernel.level},
        {"threads", kernel.threads},      {"sizes", kernel.sizes},
        {"selector", kernel.selector},    {"chosen", best ? best->tiles : kernel.selector},
        {"gain", best ? best->gain : 1.0}};
    row["trials"] = nlohmann::ordered_json::array();
    for (const TunedKernel::Trial& trial : kernel.trials) {
      nlohmann::ordered_json one = {{"tiles", trial.tiles}};
      if (trial.failure.empty()) one["gain"] = trial.gain;
      if (!trial.failure.empty()) one["failure"] = trial.failure;
      if (auto times = times_.find({kernel.kernel, trial.tiles}); times != times_.end()) {
        one["seconds"] = times->second.tried;
        one["selector_seconds"] = times->second.selector;
      }
      row["trials"].push_back(std::move(one));
    }
    results_.push_back(std::move(row));
    driver::AddJson("file", JsonText(nlohmann::json(path_)));
    driver::AddJson("kernels", JsonText(results_));
  }

  /// Returns a spec for a single level, even if `spec_` covers several levels.
  std::string LevelSpec(const targets::Target& target) const {
    std::string spec = spec_;
    if (!MeansHost(spec)) return spec;
    if (spec.find("isa=") == std::string::npos) spec = WithKey(spec, "isa=" + target.facts->level);
    return WithKey(spec, fmt::format("threads={}", threads_));
  }

  std::optional<SelectedTiles> FindSelectedTiles(const std::string& name,
                                                 const targets::Target& target) {
    driver::Options own = options_;
    own.kernel = name;
    driver::Session session(own, families_);
    auto all = SelectTilesOf(session);
    auto found = std::optional<SelectedTiles>();
    for (const SelectedTiles& one : all.value_or(std::vector<SelectedTiles>())) {
      if (one.kernel == name && one.level == target.facts->level) found = one;
    }
    bool has_some = found && !found->constants.empty() && target.facts->exact;
    return has_some ? found : std::nullopt;
  }

  /// Handles a kernel that has no integer parameter to tune. That is an error only if it is the only kernel.
  int NothingToTune(const std::string& name, bool among_several) {
    if (among_several) {
      bool prints = driver::PrintOutput(fmt::format("{} has no integer parameter to tune\n", name));
      return prints ? driver::kExitDone : driver::kExitEnvironment;
    }
    session_.diagnostics.Report(driver::diag::NothingToTune, {}, name);
    return driver::Finish(session_);
  }

  /// Returns the kernel's entry in the file if the selector still chooses the same tile sizes.
  /// Otherwise adds a new entry and returns it.
  TunedKernel& FindOrAddEntry(const SelectedTiles& tiles, Tiles sizes) {
    TunedKernel fresh{tiles.kernel, tiles.level, threads_, std::move(sizes), tiles.chosen};
    auto known =
        std::ranges::find_if(known_, [&](const TunedKernel& one) { return one.SameKey(fresh); });
    if (known == known_.end()) return known_.emplace_back(std::move(fresh));
    if (known->selector != fresh.selector) *known = std::move(fresh);
    return *known;
  }

  void Search(const SelectedTiles& tiles, TunedKernel& kernel, PlacedKernel& chosen,
              const std::vector<driver::HostTensor>& written, const driver::Options& options,
              const std::string& spec) {
    SearchTiles(tiles.constants, kernel, [&](const Tiles& wanted, size_t number, size_t of) {
      progress_.Show(kernel, wanted, number, of);
      kernel.trials.push_back(Measure(wanted, kernel, chosen, written, options, spec));
      return Write();
    });
  }

  TunedKernel::Trial Measure(const Tiles& wanted, const TunedKernel& kernel, PlacedKernel& chosen,
                             const std::vector<driver::HostTensor>& written,
                             const driver::Options& options, const std::string& spec) {
    TunedKernel::Trial trial{wanted};
    driver::Options own = options;
    for (const auto& [name, value] : wanted)
      own.define.push_back(fmt::format("{}={}", name, value));
    PlacedKernel other(own, families_, kernel.kernel, spec);
    if (!other.ok()) {
      trial.failure = FirstError(other.session().diagnostics);
      return trial;
    }
    auto its = other.Written();
    if (!its.ok() || !Agree(*its, written)) {
      trial.failure = its.ok() ? "its results differ" : FirstLine(its.failure().message);
      return trial;
    }
    try {
      Times& times = times_[{kernel.kernel, wanted}];
      trial.gain = Gain(chosen, other, times);
      // When many trials are measured, some gain by chance. A gain must therefore be confirmed.
      if (trial.gain >= TunedKernel::kWorthwhile)
        trial.gain = std::min(trial.gain, Gain(chosen, other, times));
      trial.gain = driver::TunedKernel::AsWritten(trial.gain);
    } catch (const RunFailed& failed) {
      trial.failure = FirstLine(failed.failure.message);
    }
    return trial;
  }

  /// The medians of the times of a trial, in seconds.
  struct Times {
    double selector = 0;
    double tried = 0;
  };

  /// Returns the speedup of `other` over `chosen`. They are measured alternately.
  double Gain(PlacedKernel& chosen, PlacedKernel& other, Times& times) const {
    auto side = [](const char* name, PlacedKernel& kernel) {
      return measure::Side{name, [&kernel] {
                             Status ran = kernel.Launch();
                             if (!ran.ok()) throw RunFailed{ran.failure()};
                           }};
    };
    measure::TrialLimits limits;
    limits.trials = static_cast<int>(*options_.trials);
    limits.seconds = static_cast<double>(*options_.seconds);
    limits.processor_time = MeansHost(spec_) && threads_ == 1;
    auto series =
        measure::MeasureInIterations({side("selector", chosen), side("tried", other)}, limits);
    times = {measure::Median(series[0]), measure::Median(series[1])};
    return measure::Median(measure::Quotients(series[0], series[1]));
  }

  static std::string Summary(const TunedKernel& kernel) {
    const TunedKernel::Trial* best = kernel.Best();
    std::string failed;
    auto failures =
        std::ranges::count_if(kernel.trials, [](const auto& one) { return one.gain == 0; });
    if (failures > 0) failed = fmt::format(", {} failed", failures);
    return fmt::format("{} on {} at {}: {} tried{}; the selector's {}{}\n", kernel.kernel,
                       kernel.level, driver::TilesText(kernel.sizes), kernel.trials.size(), failed,
                       driver::TilesText(kernel.selector),
                       best ? fmt::format(", and {:.2f} times as fast as it {}", best->gain,
                                          driver::TilesText(best->tiles))
                            : " is best");
  }

  /// Writes the entries, with those that another process has written since.
  bool Write() {
    FolderLock lock(path_);  // two processes may tune at the same time
    auto others = ReadEntries();
    if (!others) return false;
    std::vector<TunedKernel> all = known_;
    for (TunedKernel& other : *others) AddEntry(all, std::move(other));
    return driver::WriteOutputFiles({{path_, driver::TunedText(all)}}, session_.diagnostics);
  }

  /// Adds an entry, or its trials if there is one with its key. An entry for other choices of the selector is
  /// out of date.
  static void AddEntry(std::vector<TunedKernel>& all, TunedKernel entry) {
    auto own =
        std::ranges::find_if(all, [&](const TunedKernel& one) { return one.SameKey(entry); });
    if (own == all.end()) {
      all.push_back(std::move(entry));
    } else if (own->selector == entry.selector) {
      for (TunedKernel::Trial& trial : entry.trials)
        if (!own->Find(trial.tiles)) own->trials.push_back(std::move(trial));
    }
  }

  driver::Options options_;
  const targets::Registry& families_;
  driver::Session session_;
  driver::Compilation listed_;
  std::string path_;
  std::string spec_;
  int threads_ = 1;  ///< number of threads on the host; 0 for other devices
  std::vector<TunedKernel> known_;
  SearchProgress progress_;
  std::map<std::pair<std::string, Tiles>, Times> times_;  ///< by kernel and tiles; of this run only
  nlohmann::ordered_json results_ = nlohmann::ordered_json::array();
};

}  // namespace

int RunTune(const driver::Options& options, const targets::Registry& families) {
  return Tuning(options, families).TuneAll();
}

}  // namespace kdl::tools
