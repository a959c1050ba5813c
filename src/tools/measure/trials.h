// Sides take turns, so that what else the machine does meets all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kdl::measure {

// One of those that are compared: a call does its work once, all of it.
struct Side {
  std::string name;
  std::function<void()> run;
  // What the machine can do at most. Others on it only ever add: on the wall clock the fastest of all trials stands for each.
  bool is_limit = false;
};

// Seconds of one run, a number a trial.
using Series = std::vector<double>;

struct TrialLimits {
  int trials = 20;
  double seconds = 30;                    // fewer trials, 3 at least, where all would take longer
  std::function<void()> prepare = [] {};  // before each side's turn, not timed
  bool single = false;                    // a trial is one run, after `prepare`, and no other
  // For one thread: count the processor time of the process, not what other programs take.
  bool processor_time = false;
};

// Seconds of one of `runs` runs, on the wall clock, or as `processor` of the process.
double Time(const Side& side, std::int64_t runs, bool processor);

// A series for each side. A trial repeats a short run until 2 ms are full.
std::vector<Series> LowerStagesToStateMachine(const std::vector<Side>& sides,
                                              const TrialLimits& limits);

double Median(Series values);
// The distance of the quartiles, by the median.
double Spread(Series values);
// Trial by trial.
Series Quotients(const Series& above, const Series& below);
// The part of `times` that the machine needs at least; nothing where the median is above 1.5: nothing is that fast, somebody had
// the processors while `least` was measured.
std::optional<double> Ceiling(const Series& times, const Series& least);

}  // namespace kdl::measure
