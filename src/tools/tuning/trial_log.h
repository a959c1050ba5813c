#pragma once

#include <string>
#include <vector>

#include "driver/schedules/schedules.h"
#include "tools/tuning/search.h"

namespace kdl::tools {

/// What a trial was measured for. Trials of another kernel, machine, size or start say nothing about this one.
struct TrialKey {
  std::string kernel;
  std::string source;  ///< the hash of the kernel
  std::string target;
  int threads = 0;
  driver::Tiles sizes;
  Choice start;
  bool operator==(const TrialKey&) const = default;
};

/// The log of --resume: a line of JSON for each trial.
class TrialLog {
 public:
  /// Reads the trials in a text. Ignores lines that were only partly written.
  void Read(const std::string& text);
  /// Returns the trials with this key.
  std::vector<Trial> Find(const TrialKey& key) const;
  void Add(const TrialKey& key, const Trial& trial);
  std::string text() const;

 private:
  struct Line {
    TrialKey key;
    Trial trial;
  };
  std::vector<Line> lines_;
};

}  // namespace kdl::tools
