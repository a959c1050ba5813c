// Compares pieces of code, called sides, by measuring them alternately, so that load from other
// programs affects all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kdl::measure {

// Code to be compared with other code. A call of `run` does all of the work once.
struct Side {
  std::string name;
  std::function<void()> run;
  // Whether the side measures a limit of the machine. Load from other programs can only slow down
  // such a side. With wall-clock time, the fastest of its trials is therefore reported for every
  // trial.
  bool is_limit = false;
};

// The time of one run in seconds, for each trial.
using Series = std::vector<double>;

struct TrialLimits {
  int trials = 20;
  // If all trials would take longer than this, stop earlier, but after at least 3 trials.
  double seconds = 30;
  std::function<void()> prepare = [] {};  // called before each trial of a side; not timed
  bool single = false;                    // a trial is a single run after `prepare`
  // Measure the processor time of the process, which excludes other programs. Only valid for a side
  // with a single thread.
  bool processor_time = false;
};

// Returns the mean time of `runs` runs in seconds. It is processor time of the process if
// `processor` is set, and wall-clock time otherwise.
double Time(const Side& side, std::int64_t runs, bool processor);

// Returns a series of times for each side. If a run is short, a trial repeats it for at least 2 ms.
std::vector<Series> MeasureInIterations(const std::vector<Side>& sides, const TrialLimits& limits);

double Median(Series values);
// Returns the distance between the quartiles, divided by the median.
double Spread(Series values);
// Returns the quotient above / below for each trial.
Series Quotients(const Series& above, const Series& below);
// Returns the minimum time that the machine needs, as a fraction of `times`: the median over the
// trials of least / times. Returns nothing if the median exceeds 1.5, because the processors were
// then busy with other work while `least` was measured.
std::optional<double> Ceiling(const Series& times, const Series& least);

}  // namespace kdl::measure
