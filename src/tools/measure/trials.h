// Compares sides by measuring them alternately, so that other load on the machine affects all of
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kdl::measure {

// Something to be compared. A call does all of its work once.
struct Side {
  std::string name;
  std::function<void()> run;
  // Whether it measures a limit of the machine. Other load can only slow it down, so in wall-clock
  // time the fastest of all trials is used for each trial.
  bool is_limit = false;
};

// The seconds of one run, for each trial.
using Series = std::vector<double>;

struct TrialLimits {
  int trials = 20;
  // Stop earlier, after at least 3 trials, if all would take longer.
  double seconds = 30;
  std::function<void()> prepare = [] {};  // called before each run of a side; not timed
  bool single = false;                    // a trial is a single run after `prepare`
  // For a single thread: measure the processor time of the process, which excludes other programs.
  bool processor_time = false;
};

// Returns the mean seconds of `runs` runs: wall-clock time, or with `processor` the processor time
// of the process.
double Time(const Side& side, std::int64_t runs, bool processor);

// Returns a series for each side. A trial repeats short runs for at least 2 ms.
std::vector<Series> MeasureInIterations(const std::vector<Side>& sides, const TrialLimits& limits);

double Median(Series values);
// Returns the distance between the quartiles, divided by the median.
double Spread(Series values);
// Returns the quotients of the trials.
Series Quotients(const Series& above, const Series& below);
// Returns the share of `times` that the machine needs at least. Returns nothing if the median is
// above 1.5, because `least` was then measured while the processors were busy otherwise.
std::optional<double> Ceiling(const Series& times, const Series& least);

}  // namespace kdl::measure
