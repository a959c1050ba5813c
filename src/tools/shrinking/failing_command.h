#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "support/io.h"
#include "support/result.h"

namespace kdl::tools {

/// How a command fails. Two failures are the same if all members are equal.
struct CommandFailure {
  std::string end;  ///< such as `exited with code 1`
  std::string
      mark;  ///< the numbers of the errors, or the first line of the error without names and numbers

  bool operator==(const CommandFailure&) const = default;
  std::string text() const;
};

/// A shell command that fails for a file, and that can be run for other texts of this file. They are written to a folder
/// where the other files next to the original are visible, so that imports work.
class FailingCommand {
 public:
  /// `{}` in the command stands for the path of the file. Without it, the path is added at the end.
  static Result<FailingCommand> Make(const std::string& path, std::string_view command,
                                     double deadline_s);

  /// Runs the command for a text. Returns how it fails, or nothing if it succeeds.
  Result<std::optional<CommandFailure>> FailureFor(std::string_view text) const;

 private:
  FailingCommand(TemporaryFolder folder, std::string file, std::string line, double deadline_s)
      : folder_(std::move(folder)),
        file_(std::move(file)),
        line_(std::move(line)),
        deadline_s_(deadline_s) {}

  TemporaryFolder folder_;
  std::string file_;
  std::string line_;
  double deadline_s_;
};

/// Returns what the output of a command says about its failure: see CommandFailure::mark.
std::string MarkOf(std::string_view output);

}  // namespace kdl::tools
