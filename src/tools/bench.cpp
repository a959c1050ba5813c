#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/report.h"
#include "driver/run/devices.h"
#include "driver/run/select.h"
#include "support/machine.h"
#include "tools/commands.h"
#include "tools/measure/ceilings.h"
#include "tools/measure/crew.h"
#include "tools/suite/suite_run.h"
#include "tools/timing/annotate.h"
#include "tools/timing/bench_report.h"
#include "tools/timing/measure_options.h"
#include "tools/timing/placed_kernel.h"
#include "tools/timing/roofline.h"

namespace kdl::tools {

namespace {

using measure::Series;
using measure::Side;

/// A row of the result table that is to be measured.
struct Wanted {
  std::string kernel;
  std::string device;  ///< the device's name as the user writes it
  std::string spec;
  int threads = 0;  ///< number of threads on the host; 0 for other devices
};

/// Returns the default numbers of threads: one, and one per processor.
std::vector<int> OneAndAll() {
  int all = static_cast<int>(AllowedProcessors().size());
  return all == 1 ? std::vector<int>{1} : std::vector<int>{1, all};
}

/// Evicts the contents of the caches by writing a buffer that is larger than the caches.
class Eviction {
 public:
  Eviction() {
    constexpr int64_t kUnknown = int64_t{64} << 20;
    int64_t cache = LargestCacheBytes();
    bytes_.resize(static_cast<size_t>(2 * (cache > 0 ? cache : kUnknown)));
  }
  void Evict() {
    for (size_t i = 0; i < bytes_.size(); i += 64) bytes_[i] = ++iteration_;
  }

 private:
  std::vector<uint8_t> bytes_;
  uint8_t iteration_ = 0;
};

/// Returns the number of f32 multiply-adds that take as long as the work. Returns nothing if the
/// work depends on the data or includes operations on types other than f32 and f64.
std::optional<double> MultiplyAddSlots(const std::optional<Operations>& work) {
  if (!work) return std::nullopt;
  double slots = 0;
  for (const auto& [scalar, count] : *work) {
    if (scalar != Scalar::F32 && scalar != Scalar::F64) return std::nullopt;
    slots += scalar == Scalar::F32 ? count / 2 : count;
  }
  return slots;
}

/// Sets the limits of the machine in `row`. The series at index `first` measures arithmetic; the
/// later series measure memory streams.
void AddCeiling(const std::vector<Series>& series, size_t first, const PlacedKernel& kernel,
                BenchRow& row) {
  double per_call = measure::ArithmeticSlots(row.threads);
  std::optional<double> slots = MultiplyAddSlots(kernel.work());
  double all = kernel.bytes().all();
  double repeats = all > 0 ? kernel.moved() / all : 1;
  Series streams;
  Series least;
  for (size_t trial = 0; trial < series[first].size(); ++trial) {
    double stream = series[first + 1][trial];
    for (size_t s = first + 2; s < series.size(); ++s) stream = std::min(stream, series[s][trial]);
    streams.push_back(stream);
    // The streams move the bytes of the arguments, and a program's launches may move them often.
    stream *= repeats;
    least.push_back(std::max(stream, series[first][trial] * slots.value_or(0) / per_call));
  }
  row.peak = 2 * per_call / measure::Median(series[first]);
  row.bandwidth = all / measure::Median(streams);
  bool works = slots && (*slots > 0 || all > 0);
  if (works) row.ceiling = measure::Ceiling(series[0], least);
}

/// Thrown when a launch fails inside a trial.
struct LaunchFailed {
  Failure failure;
};
Side LaunchSide(const char* name, PlacedKernel& kernel) {
  return {name, [&kernel] {
            Status ran = kernel.Launch();
            if (!ran.ok()) throw LaunchFailed{ran.failure()};
          }};
}

/// Returns the time of a launch in seconds, measured by the device's own clock. Returns nothing if
/// the device has no clock. The clock starts at the first query.
std::optional<double> TimeByDevice(PlacedKernel& kernel, int launches) {
  std::optional<int64_t> before = kernel.NanosecondsInKernels();
  if (!before) return std::nullopt;
  Side side = LaunchSide("by device", kernel);
  Series series;
  for (int i = 0; i < launches; ++i) {
    side.run();
    int64_t now = kernel.NanosecondsInKernels().value_or(*before);
    series.push_back(static_cast<double>(now - *before) * 1e-9);
    before = now;
  }
  double median = measure::Median(series);
  return median > 0 ? std::optional(median) : std::nullopt;
}

BenchRow Measure(const Wanted& wanted, const driver::Options& options, PlacedKernel& ours,
                 PlacedKernel* other) {
  measure::TrialLimits limits;
  if (options.trials) limits.trials = static_cast<int>(*options.trials);
  if (options.seconds) limits.seconds = static_cast<double>(*options.seconds);
  limits.processor_time = wanted.threads == 1;
  Eviction eviction;
  limits.single = options.cold || ours.ChangesArguments();
  limits.prepare = [&] {
    for (PlacedKernel* one : {&ours, other}) {
      Status restored = one ? one->Restore() : Status();
      if (!restored.ok()) throw LaunchFailed{restored.failure()};
    }
    if (options.cold) eviction.Evict();
  };
  std::vector<Side> sides = {LaunchSide("ours", ours)};
  if (other) sides.push_back(LaunchSide("against", *other));
  size_t ceilings = sides.size();
  std::vector<int> processors = AllowedProcessors();
  processors.resize(static_cast<size_t>(std::max(wanted.threads, 1)));
  measure::Crew crew(processors);
  if (wanted.threads > 0) {
    measure::Share share = [&](int64_t count, int64_t grain, const auto& part) {
      crew.Do(count, grain, part);
    };
    sides.push_back(measure::ArithmeticSides(wanted.threads, share)[0]);
    for (Side& side : measure::StreamSides(ours.bytes(), share)) sides.push_back(std::move(side));
  }
  std::vector<Series> series = measure::MeasureInIterations(sides, limits);
  BenchRow row;
  row.kernel = wanted.kernel;
  row.sizes = ours.SizesText();
  row.device = wanted.device;
  row.threads = wanted.threads;
  row.median = measure::Median(series[0]);
  row.spread = measure::Spread(series[0]);
  row.trials = static_cast<int>(series[0].size());
  if (wanted.threads == 0) row.by_device = TimeByDevice(ours, row.trials);
  row.bytes = ours.moved();
  row.remark = ours.WorstRemark();
  if (ours.work()) row.operations = Sum(*ours.work());
  if (wanted.threads > 0) AddCeiling(series, ceilings, ours, row);
  if (other) {
    Series quotients = measure::Quotients(series[1], series[0]);
    row.against = measure::Median(quotients);
    row.against_spread = measure::Spread(quotients);
  }
  return row;
}

/// Adds the diagnostics from compiling a row that were not already reported when the file was
/// compiled.
void AddNew(const DiagnosticEngine& found, DiagnosticEngine& all) {
  for (const auto& one : found.all()) {
    auto same = [&](const auto& known) {
      return known->id == one->id && known->span == one->span && known->text == one->text;
    };
    if (std::ranges::any_of(all.all(), same)) continue;
    const DiagnosticKind<void(std::string_view)> again{one->id, one->severity, "{}"};
    Diagnostic& added = all.Report(again, one->span, one->text);
    added.notes = one->notes;
    added.help = one->help;
  }
}

class Bench {
 public:
  Bench(const driver::Options& options, const targets::Registry& families)
      : options_(options), families_(families), session_(options, families) {}

  int MeasureAll() {
    std::vector<ir::Function*> kernels;
    std::optional<std::vector<Wanted>> rows = List(kernels);
    if (!rows) return driver::Finish(session_);
    columns_ = {rows->front().threads == 0, !options_.against.empty()};
    // After a failure, skip only the remaining rows of the same kernel.
    std::set<const ir::Function*> failed;
    int first_fault = driver::kExitDone;
    for (size_t i = 0; i < rows->size(); ++i) {
      const ir::Function* kernel = kernels[i % kernels.size()];
      if (failed.contains(kernel)) continue;
      int code = RunOne((*rows)[i], *kernel, kernels.size() > 1);
      if (session_.diagnostics.has_errors()) return code;
      if (code == driver::kExitDone) continue;
      failed.insert(kernel);
      if (first_fault == driver::kExitDone) first_fault = code;
    }
    if (first_fault != driver::kExitDone && rows_.empty()) return first_fault;
    int code = Write();
    return first_fault == driver::kExitDone ? code : first_fault;
  }

 private:
  /// Returns the rows to measure: each combination of a kernel and a number of threads.
  std::optional<std::vector<Wanted>> List(std::vector<ir::Function*>& kernels) {
    auto spec = driver::OnlyTarget(options_, session_.diagnostics);
    if (!spec) return std::nullopt;
    listed_ = driver::Compile(session_, {.until = driver::Until::Ir});
    if (!listed_.ok()) return std::nullopt;
    spec = driver::PlaceOfKernel(*listed_.module, *spec, options_);
    auto threads = ThreadCounts(options_, *spec, OneAndAll(), session_.diagnostics);
    if (!threads || !CanMeasure(options_, session_.diagnostics)) return std::nullopt;
    if (!MayWrite()) return std::nullopt;
    if (options_.program.empty()) {
      kernels =
          driver::SelectKernels(*listed_.module, options_.files[0], options_, session_.diagnostics);
    } else {
      kernels = FindPrograms();
    }
    if (kernels.empty()) return std::nullopt;
    std::vector<Wanted> rows;
    for (int count : *threads) {
      std::string own = count > 0 ? WithKey(*spec, fmt::format("threads={}", count)) : *spec;
      for (const ir::Function* kernel : kernels)
        rows.push_back({kernel->name.str(), *spec, own, count});
    }
    return rows;
  }

  /// Returns an instance of the program that --program names. The arguments select the instance that runs.
  std::vector<ir::Function*> FindPrograms() {
    for (ir::Function* one : listed_.module->functions()) {
      bool is_program = one->kind == ir::FunctionKind::Program;
      if (is_program && driver::IsNamed(*one, options_.program)) return {one};
    }
    driver::SelectFunction(*listed_.module, options_.files[0], {}, options_, session_.diagnostics);
    return {};
  }

  /// Whether the files of --out and --plot may be written.
  bool MayWrite() {
    std::vector<std::string> written = driver::FilesIn(options_.out);
    if (!options_.plot.empty()) written.push_back(options_.plot);
    return driver::MayWrite(written, "name another file after --out or --plot",
                            session_.diagnostics);
  }

  /// Measures a row. On failure, reports it. Returns the exit code.
  int RunOne(const Wanted& wanted, const ir::Function& kernel, bool among_several) {
    driver::Options own = among_several ? OptionsFor(options_, kernel) : options_;
    own.lines = own.annotate;
    // The other file comes first: ours then does not write an output over a file that it imports.
    std::unique_ptr<PlacedKernel> other;
    if (!options_.against.empty()) {
      driver::Options theirs = own;
      theirs.files = {options_.against};
      theirs.out.clear();
      other = std::make_unique<PlacedKernel>(theirs, families_, wanted.kernel, wanted.spec);
      if (!other->ok()) return driver::Finish(other->session());
    }
    PlacedKernel ours(own, families_, wanted.kernel, wanted.spec);
    if (!ours.ok()) return driver::Finish(ours.session());
    if (ours.facts().functional != 0) {
      session_.diagnostics.Report(driver::diag::NoTimes, {}, wanted.spec);
      return driver::Finish(session_);
    }
    AddNew(ours.session().diagnostics, session_.diagnostics);
    try {
      rows_.push_back(Measure(wanted, own, ours, other.get()));
    } catch (const LaunchFailed& failed) {
      driver::Session& its = ours.session();
      driver::ReportFailure(failed.failure, its.sources, its.diagnostics);
      return driver::Finish(its);
    }
    std::string text = rows_.size() == 1 ? BenchHead(columns_) : std::string();
    text += BenchLine(rows_.back(), columns_) + BenchRemarkLine(rows_.back());
    if (options_.annotate && wanted.threads > 0) {
      Result<std::string> annotated = Annotate(ours);
      if (!annotated.ok()) {
        session_.diagnostics.Report(driver::diag::RunFailed, {}, annotated.failure().message);
        return driver::Finish(session_);
      }
      text += *annotated;
    }
    bool printed = driver::PrintOutput(text);
    return printed ? driver::kExitDone : driver::kExitEnvironment;
  }

  int Write() {
    std::vector<driver::OutputFile> files;
    driver::AddJson("rows", BenchJson(rows_));
    if (!options_.plot.empty()) files.push_back({options_.plot, RooflineSvg(rows_, TitleForNow())});
    driver::WriteOutputFiles(files, session_.diagnostics);
    return driver::Finish(session_);
  }

  const driver::Options& options_;
  const targets::Registry& families_;
  driver::Session session_;
  driver::Compilation listed_;
  std::vector<BenchRow> rows_;
  BenchColumns columns_;
};

}  // namespace

int RunBench(const driver::Options& options, const targets::Registry& families) {
  if (!options.suite.empty()) return RunSuite(options);
  return Bench(options, families).MeasureAll();
}

}  // namespace kdl::tools
