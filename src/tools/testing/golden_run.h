#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace kdl::tools {

enum class GoldenEnd { NotGolden, Passed, Failed, Updated, Skipped };

struct GoldenOutcome {
  GoldenEnd end = GoldenEnd::Passed;
  std::string
      report;  ///< a description for the user: the command and the diff, or the commands that were skipped
};

struct GoldenSettings {
  std::string kernelc;  ///< the program under test
  bool update = false;  ///< rewrites the expected output if the exit code is correct
  double deadline_s = 120;
  /// Whether a command with this argument would load a plugin or run other foreign code. Such
  /// commands are refused.
  std::function<bool(std::string_view word)> runs_code = [](std::string_view) { return false; };
  /// Whether the argument is a target whose code this machine cannot run, because its processor lacks instructions.
  /// Commands that would run such code are skipped.
  std::function<bool(std::string_view word)> lacks_target = [](std::string_view) { return false; };
};

/// Runs the commands of a golden file and compares their outputs. Each command runs in a private
/// folder that contains the file and its companions. The outcome is `Skipped` if all commands are.
GoldenOutcome RunGolden(const std::string& path, const GoldenSettings& settings);

}  // namespace kdl::tools
