#include <fmt/format.h>

#include <algorithm>
#include <chrono>
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
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/report.h"
#include "driver/run/devices.h"
#include "driver/run/select.h"
#include "support/io.h"
#include "support/json_text.h"
#include "tools/commands.h"
#include "tools/measure/trials.h"
#include "tools/timing/measure_options.h"
#include "tools/timing/placed_kernel.h"
#include "tools/tuning/schedule_writer.h"
#include "tools/tuning/space.h"
#include "tools/tuning/trial_log.h"

// kernelc tune: measures neighbours of the way in which a kernel is compiled, alternating with measurements of that way. The
// best one so far is in the file of schedules, so that an interruption loses at most one trial with --resume.

namespace kdl::tools {

namespace {

using driver::Schedule;
using Clock = std::chrono::steady_clock;

/// Shows the progress of the search as a single line on a terminal.
class SearchProgress {
 public:
  void Show(const std::string& kernel, const std::vector<Trial>& trials, const std::string& limit,
            const std::string& now) {
    if (!on_terminal_) return;
    const Trial* best = BestTrial(trials);
    driver::PrintAside(fmt::format("\r{}: {} tried, best {:.2f}{}, now {}\x1b[K", kernel,
                                   trials.size(), best ? best->gain : 1.0, limit, now));
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

struct RunFailed {
  Failure failure;
};

/// Returns the path of the result without --tuned: next to the source, or, for a library file, in
/// the current folder.
std::string DefaultPath(const driver::Options& options) {
  const std::filesystem::path file = options.files[0];
  if (driver::FindStdlibFile(file.string())) return driver::ModuleName(options) + ".tuned.yaml";
  return std::filesystem::path(file).replace_extension(".tuned.yaml").string();
}

/// The options without --tuned, which names the file that is written.
driver::Options Untuned(driver::Options options) {
  options.tuned.clear();
  return options;
}

/// The search for one kernel.
struct KernelSearch {
  const Space& space;
  TrialKey key;
  driver::Options options;
  std::string spec;  ///< of the device
  PlacedKernel& start;
  std::vector<driver::HostTensor> written;  ///< by the start
  std::vector<Trial> trials;
  std::map<std::string, double> gains = {};  ///< by code
  bool out_of_time = false;
};

class Tuning {
 public:
  Tuning(const driver::Options& options, const targets::Registry& families)
      : options_(Untuned(options)),
        families_(families),
        session_(options_, families),
        file_(options.tuned.empty() ? DefaultPath(options) : options.tuned, session_) {}

  int TuneAll() {
    std::vector<ir::Function*> kernels = List();
    if (options_.time_limit) deadline_ = Clock::now() + std::chrono::seconds(*options_.time_limit);
    for (const ir::Function* kernel : kernels) {
      bool among_several = kernels.size() > 1;
      if (int code = RunOne(*kernel, among_several); code != driver::kExitDone) return code;
    }
    return driver::Finish(session_);
  }

 private:
  /// Returns the kernels to tune, and reads the log. On error, reports it and returns nothing.
  std::vector<ir::Function*> List() {
    auto spec = driver::OnlyTarget(options_, session_.diagnostics);
    if (!spec) return {};
    listed_ = driver::Compile(session_, {.until = driver::Until::Ir});
    if (!listed_.ok()) return {};
    spec_ = driver::PlaceOfKernel(*listed_.module, *spec, options_);
    if (!ReadThreads() || !CanMeasure(options_, session_.diagnostics)) return {};
    std::vector<std::string> outputs = {file_.path()};
    if (!options_.resume.empty()) outputs.push_back(options_.resume);
    if (!driver::MayWrite(outputs, "name another file after --tuned or --resume",
                          session_.diagnostics) ||
        !file_.IsReadable() || !ReadLog())
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

  bool ReadLog() {
    constexpr size_t kMostBytes = size_t{64} << 20;
    std::error_code missing;
    if (options_.resume.empty() || !std::filesystem::exists(options_.resume, missing)) return true;
    auto text = driver::ReadRewrittenFile(options_.resume, kMostBytes, session_.diagnostics);
    if (text) log_.Read(*text);
    return text.has_value();
  }

  /// Tunes a kernel. On failure, reports it. Returns the exit code.
  int RunOne(const ir::Function& function, bool among_several) {
    const std::string name = function.name.str();
    driver::Options own = among_several ? OptionsFor(options_, function) : options_;
    std::string spec =
        MeansHost(spec_) ? WithKey(spec_, fmt::format("threads={}", threads_)) : spec_;
    PlacedKernel start(own, families_, name, spec);
    if (!start.ok()) return driver::Finish(start.session());
    const driver::TargetCode* level = start.level();
    if (start.facts().functional != 0 || !level) {
      session_.diagnostics.Report(driver::diag::NoTimes, {}, spec_);
      return driver::Finish(session_);
    }
    spec = LevelSpec(level->target);
    auto space = Space::Find(own, families_, name, spec, threads_, session_.diagnostics);
    if (!space) return driver::Finish(session_);
    auto written = start.Written();
    if (!written.ok()) {
      driver::ReportFailure(written.failure(), session_.sources, session_.diagnostics);
      return driver::Finish(session_);
    }
    TrialKey key{name,     space->source(), level->target.facts->level,
                 threads_, start.Sizes(),   StartOf(space->dimensions())};
    KernelSearch search{*space, key, own, spec, start, std::move(*written), log_.Find(key)};
    TryChoices(search);
    progress_.End();
    if (!ChangesCode(search)) return NothingToTune(name, among_several);
    // The search also ends when a file cannot be written.
    if (session_.diagnostics.has_errors() || !file_.Write(BestSchedule(search)))
      return driver::Finish(session_);
    AddResult(search);
    return driver::PrintOutput(Summary(search)) ? driver::kExitDone : driver::kExitEnvironment;
  }

  /// Returns a spec for a single level, even if `spec_` covers several levels.
  std::string LevelSpec(const targets::Target& target) const {
    std::string spec = spec_;
    if (!MeansHost(spec)) return spec;
    if (spec.find("isa=") == std::string::npos) spec = WithKey(spec, "isa=" + target.facts->level);
    return WithKey(spec, fmt::format("threads={}", threads_));
  }

  void TryChoices(KernelSearch& search) {
    search.gains[search.space.start().code] = 1;
    if (const Trial* best = BestTrial(search.trials))
      search.gains[search.space.Lower(best->choice).code] = best->gain;
    Search(search.space.dimensions(), search.trials, [&](const Choice& choice) {
      search.out_of_time = deadline_ && Clock::now() >= *deadline_;
      if (search.out_of_time) return false;
      progress_.Show(search.key.kernel, search.trials, TimeLeftText(),
                     search.space.ChangesText(choice));
      const Trial* best = BestTrial(search.trials);
      double gain = best ? best->gain : 1;
      search.trials.push_back(Measure(choice, search));
      log_.Add(search.key, search.trials.back());
      bool is_best = search.trials.back().gain >= gain * kWorthwhileGain;
      return WriteLog() && (!is_best || file_.Write(BestSchedule(search)));
    });
  }

  std::string TimeLeftText() const {
    if (!deadline_) return "";
    auto left = std::chrono::duration_cast<std::chrono::seconds>(*deadline_ - Clock::now());
    return fmt::format(", {} s left", left.count());
  }

  bool WriteLog() {
    return options_.resume.empty() ||
           driver::WriteOutputFiles({{options_.resume, log_.text()}}, session_.diagnostics);
  }

  Trial Measure(const Choice& choice, KernelSearch& search) {
    Trial trial{choice};
    LoweredKernel lowered = search.space.Lower(choice);
    trial.failure = lowered.failure;
    if (!trial.failure.empty()) return trial;
    auto known = search.gains.find(lowered.code);
    trial.same_code = known != search.gains.end();
    if (trial.same_code) trial.gain = known->second;
    if (trial.same_code) return trial;
    PlacedKernel other(search.space.OptionsFor(search.options, choice), families_,
                       search.key.kernel, search.spec, search.space.ScheduleFor(choice));
    if (!other.ok()) {
      trial.failure = FirstError(other.session().diagnostics);
      return trial;
    }
    auto its = other.Written();
    if (!its.ok() || !Agree(*its, search.written)) {
      trial.failure = its.ok() ? "its results differ" : FirstLine(its.failure().message);
      return trial;
    }
    try {
      Times& times = times_[{search.key.kernel, choice}];
      trial.gain = Gain(search.start, other, times);
      // When many trials are measured, some gain by chance. A gain must therefore be confirmed.
      if (trial.gain >= kWorthwhileGain)
        trial.gain = std::min(trial.gain, Gain(search.start, other, times));
      trial.gain = RoundedGain(trial.gain);
      search.gains[lowered.code] = trial.gain;
    } catch (const RunFailed& failed) {
      trial.failure = FirstLine(failed.failure.message);
    }
    return trial;
  }

  /// The medians of the times of a trial, in seconds.
  struct Times {
    double start = 0;
    double tried = 0;
  };

  /// Returns the speedup of `other` over `start`. They are measured alternately.
  double Gain(PlacedKernel& start, PlacedKernel& other, Times& times) const {
    auto side = [](const char* name, PlacedKernel& kernel) {
      return measure::Side{name, [&kernel] {
                             Status ran = kernel.Launch();
                             if (!ran.ok()) throw RunFailed{ran.failure()};
                           }};
    };
    measure::TrialLimits limits;
    limits.trials = static_cast<int>(*options_.trials);
    limits.seconds = static_cast<double>(*options_.seconds);
    if (deadline_) {
      std::chrono::duration<double> left = *deadline_ - Clock::now();
      limits.seconds = std::clamp(left.count(), 0.0, limits.seconds);
    }
    limits.processor_time = MeansHost(spec_) && threads_ == 1;
    auto series =
        measure::MeasureInIterations({side("start", start), side("tried", other)}, limits);
    times = {measure::Median(series[0]), measure::Median(series[1])};
    return measure::Median(measure::Quotients(series[0], series[1]));
  }

  /// Whether any of the choices changes the code, or may do so because it was not tried.
  static bool ChangesCode(const KernelSearch& search) {
    return search.out_of_time ||
           std::ranges::any_of(search.trials, [](const Trial& one) { return !one.same_code; });
  }

  /// Returns the schedule of the best trial so far, or that of the start if none gains.
  static Schedule BestSchedule(const KernelSearch& search) {
    const Trial* best = BestTrial(search.trials);
    Choice choice = best ? best->choice : search.key.start;
    Schedule schedule = search.space.ScheduleFor(choice)->schedules.front();
    schedule.threads = search.key.threads;
    schedule.sizes = search.key.sizes;
    schedule.gain = best ? best->gain : 1;
    // Parameters of a pipeline file become options.
    LoweredKernel lowered = best ? search.space.Lower(choice) : search.space.start();
    for (const auto& [name, value] : lowered.options) {
      size_t dot = name.find('.');
      if (search.space.start().options.at(name) != value)
        schedule.passes[name.substr(0, dot)][name.substr(dot + 1)] = value;
    }
    return schedule;
  }

  /// Handles a kernel that has nothing to tune. That is an error only if it is the only kernel.
  int NothingToTune(const std::string& name, bool among_several) {
    if (among_several) {
      bool prints = driver::PrintOutput(fmt::format("{} has nothing to tune\n", name));
      return prints ? driver::kExitDone : driver::kExitEnvironment;
    }
    session_.diagnostics.Report(driver::diag::NothingToTune, {}, name);
    return driver::Finish(session_);
  }

  /// Adds a kernel to the object of --json: what was chosen, and what was measured for all that was tried.
  void AddResult(const KernelSearch& search) {
    const Trial* best = BestTrial(search.trials);
    nlohmann::ordered_json row = {
        {"kernel", search.key.kernel},    {"level", search.key.target},
        {"threads", search.key.threads},  {"sizes", search.key.sizes},
        {"start", search.key.start},      {"chosen", best ? best->choice : search.key.start},
        {"gain", best ? best->gain : 1.0}};
    row["trials"] = nlohmann::ordered_json::array();
    for (const Trial& trial : search.trials) {
      nlohmann::ordered_json one = {{"choice", trial.choice}};
      if (trial.failure.empty()) one["gain"] = trial.gain;
      if (!trial.failure.empty()) one["failure"] = trial.failure;
      if (trial.same_code) one["same_code"] = true;
      if (auto times = times_.find({search.key.kernel, trial.choice}); times != times_.end()) {
        one["seconds"] = times->second.tried;
        one["start_seconds"] = times->second.start;
      }
      row["trials"].push_back(std::move(one));
    }
    results_.push_back(std::move(row));
    driver::AddJson("file", JsonText(nlohmann::json(file_.path())));
    driver::AddJson("kernels", JsonText(results_));
  }

  std::string Summary(const KernelSearch& search) const {
    const Trial* best = BestTrial(search.trials);
    auto count = [&](auto is) { return std::ranges::count_if(search.trials, is); };
    auto failed = count([](const Trial& one) { return !one.failure.empty(); });
    auto same = count([](const Trial& one) { return one.same_code; });
    std::string text = fmt::format("{} on {} at {}: {} tried", search.key.kernel, search.key.target,
                                   driver::TilesText(search.key.sizes), search.trials.size());
    if (failed > 0) text += fmt::format(", {} failed", failed);
    if (same > 0) text += fmt::format(", {} without a change of code", same);
    if (search.out_of_time) text += fmt::format(", stopped after {} s", *options_.time_limit);
    if (!best) return text + "; nothing is faster than what the compiler chooses\n";
    return text + fmt::format("; {:.2f} times as fast with {}\n", best->gain,
                              search.space.ChangesText(best->choice));
  }

  driver::Options options_;
  const targets::Registry& families_;
  driver::Session session_;
  ScheduleWriter file_;
  driver::Compilation listed_;
  std::string spec_;
  int threads_ = 1;  ///< number of threads on the host; 0 for other devices
  std::optional<Clock::time_point> deadline_;
  TrialLog log_;
  SearchProgress progress_;
  std::map<std::pair<std::string, Choice>, Times> times_;  ///< by kernel; of this run only
  nlohmann::ordered_json results_ = nlohmann::ordered_json::array();
};

}  // namespace

int RunTune(const driver::Options& options, const targets::Registry& families) {
  return Tuning(options, families).TuneAll();
}

}  // namespace kdl::tools
