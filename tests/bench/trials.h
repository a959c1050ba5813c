// Sides take turns, so that what else the machine does meets all of them.
#pragma once

#include <functional>
#include <vector>

#include "case.h"

namespace bench {

// Seconds of one run, a number a trial.
using Series = std::vector<double>;

struct TrialLimits {
  int trials = 20;
  double seconds = 30;                    // fewer trials, 3 at least, where all would take longer
  std::function<void()> prepare = [] {};  // before each side's turn, not timed
  // For one thread: count the processor time of the process, not what other programs take.
  bool processor_time = false;
};

// A series for each side. A trial repeats a short run until 2 ms are full.
std::vector<Series> TakeTurns(const std::vector<Side>& sides, const TrialLimits& limits);

double Median(Series values);
// The distance of the quartiles, by the median.
double Spread(Series values);
// Trial by trial.
Series Quotients(const Series& above, const Series& below);

}  // namespace bench
