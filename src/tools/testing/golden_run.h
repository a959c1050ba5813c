#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace kdl::tools {

enum class GoldenEnd { NotGolden, Passed, Failed, Updated };

struct GoldenOutcome {
  GoldenEnd end = GoldenEnd::Passed;
  std::string report;  ///< what went wrong, for a person: the command, the diff
};

struct GoldenSettings {
  std::string kernelc;  ///< the program under test
  bool update = false;  ///< rewrite the expectations where the exit code is right
  double deadline_s = 120;
  /// Whether a word of a command would run somebody else's code.
  std::function<bool(std::string_view word)> runs_code = [](std::string_view) { return false; };
};

/// Runs one file's commands, each in a private folder that holds the file and its companions, and
/// compares the output.
GoldenOutcome RunGolden(const std::string& path, const GoldenSettings& settings);

}  // namespace kdl::tools
