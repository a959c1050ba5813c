#include "tools/measure/trials.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

namespace kdl::measure {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double kLeastSeconds = 2e-3;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// Returns the processor time of this process in seconds. It does not include other programs.
double ProcessorSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double Now(bool processor) {
  return processor ? ProcessorSeconds() : Seconds(Clock::now().time_since_epoch());
}

}  // namespace

double Time(const Side& side, std::int64_t runs, bool processor) {
  const double begin = Now(processor);
  for (std::int64_t i = 0; i < runs; ++i) side.run();
  return (Now(processor) - begin) / static_cast<double>(runs);
}

namespace {

// Returns the wall-clock time of the fastest of several tries, because load from other programs can
// only slow down a try. Processor time excludes such load, so a single try is enough for it.
double Trial(const Side& side, std::int64_t runs, bool processor) {
  if (processor) return Time(side, runs, true);
  constexpr int kTries = 5;
  constexpr double kLongest = 50e-3;
  double least = Time(side, runs, false);
  double total = least * static_cast<double>(runs);
  for (int i = 1; i < kTries && total < kLongest; ++i) {
    const double seconds = Time(side, runs, false);
    least = std::min(least, seconds);
    total += seconds * static_cast<double>(runs);
  }
  return least;
}

// Returns the number of runs per trial that makes a trial long enough to measure, even with load
// from other programs.
std::int64_t RunsPerTrial(const Side& side, bool processor) {
  std::int64_t runs = 1;
  while (true) {
    double seconds = Time(side, runs, processor) * static_cast<double>(runs);
    if (seconds >= kLeastSeconds)
      seconds = std::min(seconds, Trial(side, runs, processor) * static_cast<double>(runs));
    if (seconds >= kLeastSeconds) return runs;
    // Aim somewhat higher than needed, but do not extrapolate far from a time that is too short to
    // be accurate.
    const double factor = std::clamp(1.2 * kLeastSeconds / std::max(seconds, 1e-9), 1.5, 10.0);
    runs = static_cast<std::int64_t>(std::ceil(static_cast<double>(runs) * factor));
  }
}

double Quantile(const Series& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (place - std::floor(place));
}

}  // namespace

std::vector<Series> MeasureInIterations(const std::vector<Side>& sides, const TrialLimits& limits) {
  std::vector<std::int64_t> runs;
  for (const Side& side : sides)
    runs.push_back(limits.single ? 1 : RunsPerTrial(side, limits.processor_time));
  std::vector<Series> series(sides.size());
  const Clock::time_point begin = Clock::now();
  for (int trial = 0; trial < limits.trials; ++trial) {
    if (trial >= 3 && Seconds(Clock::now() - begin) > limits.seconds) break;
    for (std::size_t iteration = 0; iteration < sides.size(); ++iteration) {
      // Alternate between forward and backward order. Otherwise, each side would always follow the
      // same side.
      const std::size_t s = trial % 2 == 0 ? iteration : sides.size() - 1 - iteration;
      limits.prepare();
      if (runs[s] > 1) sides[s].run();  // wakes the threads, and loads the operands into caches
      series[s].push_back(limits.single ? Time(sides[s], 1, limits.processor_time)
                                        : Trial(sides[s], runs[s], limits.processor_time));
    }
  }
  for (std::size_t s = 0; s < sides.size(); ++s) {
    if (sides[s].is_limit && !limits.processor_time)
      std::ranges::fill(series[s], *std::ranges::min_element(series[s]));
  }
  return series;
}

double Median(Series values) {
  std::ranges::sort(values);
  return Quantile(values, 0.5);
}

double Spread(Series values) {
  std::ranges::sort(values);
  return (Quantile(values, 0.75) - Quantile(values, 0.25)) / Quantile(values, 0.5);
}

Series Quotients(const Series& above, const Series& below) {
  Series quotients;
  for (std::size_t i = 0; i < above.size(); ++i) quotients.push_back(above[i] / below[i]);
  return quotients;
}

std::optional<double> Ceiling(const Series& times, const Series& least) {
  constexpr double kMost = 1.5;
  const double part = Median(Quotients(least, times));
  return part < kMost ? std::optional(part) : std::nullopt;
}

}  // namespace kdl::measure
