#include "tools/tuning/search.h"

#include <algorithm>
#include <cmath>

namespace kdl::tools {

namespace {

std::vector<int64_t> NeighboursInList(std::vector<int64_t> choices, int64_t value) {
  std::vector<int64_t> found;
  std::ranges::sort(choices);
  auto at = std::ranges::lower_bound(choices, value);
  if (at != choices.begin()) found.push_back(*(at - 1));
  for (; at != choices.end() && *at == value; ++at) {
  }
  if (at != choices.end()) found.push_back(*at);
  return found;
}

/// Returns the candidates around the value, some of which may not be allowed.
std::vector<int64_t> Candidates(const Dimension& dimension, int64_t value) {
  constexpr int64_t kFew = 4;
  std::vector<int64_t> found;
  if (dimension.kind == Dimension::Kind::Tile) {
    for (int64_t quarters : {2, 3, 6, 8}) {
      int64_t other = value * quarters / 4;
      found.push_back(other - other % dimension.multiple);
    }
  } else if (dimension.most - dimension.least < kFew) {
    for (int64_t other = dimension.least; other <= dimension.most; ++other) found.push_back(other);
  } else {
    found = {value / 2, value == 0 ? 1 : value * 2};
  }
  return found;
}

}  // namespace

Choice StartOf(const std::vector<Dimension>& dimensions) {
  Choice start;
  for (const Dimension& dimension : dimensions) start[dimension.name] = dimension.start;
  return start;
}

double RoundedGain(double gain) {
  constexpr double kParts = 1000;
  return std::max(std::round(gain * kParts), 1.0) / kParts;
}

const Trial* BestTrial(const std::vector<Trial>& trials) {
  const Trial* best = nullptr;
  for (const Trial& trial : trials) {
    bool gained = trial.gain >= kWorthwhileGain && (!best || trial.gain > best->gain);
    if (gained) best = &trial;
  }
  return best;
}

const Trial* FindTrial(const std::vector<Trial>& trials, const Choice& choice) {
  auto found = std::ranges::find(trials, choice, &Trial::choice);
  return found == trials.end() ? nullptr : &*found;
}

std::vector<int64_t> Neighbours(const Dimension& dimension, int64_t value) {
  if (!dimension.choices.empty()) return NeighboursInList(dimension.choices, value);
  std::vector<int64_t> found;
  for (int64_t other : Candidates(dimension, value)) {
    bool fits = other >= dimension.least && other <= dimension.most && other != value &&
                other % dimension.multiple == 0;
    if (fits && std::ranges::find(found, other) == found.end()) found.push_back(other);
  }
  return found;
}

void Search(const std::vector<Dimension>& dimensions, const std::vector<Trial>& trials,
            const std::function<bool(const Choice& choice)>& measure) {
  const Choice start = StartOf(dimensions);
  Choice best = start;
  double gain = 1;
  for (bool better = true; better;) {
    better = false;
    for (const Dimension& dimension : dimensions) {
      Choice from = best;
      for (int64_t value : Neighbours(dimension, best.at(dimension.name))) {
        Choice choice = from;
        choice[dimension.name] = value;
        if (choice == start) continue;
        if (!FindTrial(trials, choice) && !measure(choice)) return;
        const Trial* trial = FindTrial(trials, choice);
        if (!trial || trial->gain < gain * kWorthwhileGain) continue;
        best = choice;
        gain = trial->gain;
        better = true;
      }
    }
  }
}

}  // namespace kdl::tools
