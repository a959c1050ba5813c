#include "tools/shrinking/failing_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "support/process.h"

namespace kdl::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPathPlace = "{}";

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Returns the numbers of errors in the text, such as E0412 in `[E0412]`.
std::set<std::string> NumbersIn(std::string_view text) {
  constexpr size_t kLength = 5;  // a letter and four digits
  std::set<std::string> numbers;
  for (size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at + 1)) {
    std::string_view id = text.substr(at + 1, kLength);
    bool is_id = id.size() == kLength && id[0] == 'E' &&
                 id.find_first_not_of("0123456789", 1) == std::string_view::npos &&
                 text.substr(at + 1 + kLength).starts_with(']');
    if (is_id) numbers.emplace(id);
  }
  return numbers;
}

/// Returns the lines that report errors. Warnings may come and go while a program shrinks.
std::string ErrorLines(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    if (line.find("error: ") != std::string_view::npos) lines += fmt::format("{}\n", line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return lines;
}

/// Returns the first line that is not empty, without digits and without what is in quotes.
std::string FirstLine(std::string_view text) {
  size_t begin = text.find_first_not_of(" \n");
  if (begin == std::string_view::npos) return "";
  std::string line;
  bool is_quoted = false;
  for (char c : text.substr(begin, text.find('\n', begin) - begin)) {
    if (c == '\'') is_quoted = !is_quoted;
    if (!is_quoted && !IsDigit(c)) line += c;
  }
  return line;
}

std::string ShellQuoted(std::string_view path) {
  std::string quoted = "'";
  for (char c : path) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string CommandFailure::text() const {
  return mark.empty() ? end : fmt::format("{}: {}", end, mark);
}

std::string MarkOf(std::string_view output) {
  std::set<std::string> numbers = NumbersIn(ErrorLines(output));
  return numbers.empty() ? FirstLine(output) : fmt::format("{}", fmt::join(numbers, ", "));
}

Result<FailingCommand> FailingCommand::Make(const std::string& path, std::string_view command,
                                            double deadline_s) {
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  if (!folder.ok()) return folder.failure();
  std::error_code error;
  fs::path original = fs::absolute(path, error);
  for (const auto& entry : fs::directory_iterator(original.parent_path(), error)) {
    if (entry.path().filename() != original.filename())
      fs::create_symlink(entry.path(), fs::path(folder->path()) / entry.path().filename(), error);
  }
  std::string file = fs::path(folder->path()) / original.filename();
  std::string line(command);
  if (line.find(kPathPlace) == std::string::npos) line += fmt::format(" {}", kPathPlace);
  std::string quoted = ShellQuoted(file);
  for (size_t at = line.find(kPathPlace); at != std::string::npos;
       at = line.find(kPathPlace, at + quoted.size()))
    line.replace(at, kPathPlace.size(), quoted);
  return FailingCommand(std::move(*folder), std::move(file), std::move(line), deadline_s);
}

Result<std::optional<CommandFailure>> FailingCommand::FailureFor(std::string_view text) const {
  Status written = WriteFileWhole(file_, text);
  if (!written.ok()) return written.failure();
  ProcessRequest request;
  request.words = {"sh", "-c", line_};
  request.deadline_s = deadline_s_;
  Result<ProcessResult> run = RunProcess(request);
  if (!run.ok()) return run.failure();
  if (run->ok()) return std::optional<CommandFailure>();
  std::string mark = MarkOf(run->err);
  return std::optional(
      CommandFailure{DescribeEnd(*run, request), mark.empty() ? MarkOf(run->out) : mark});
}

}  // namespace kdl::tools
