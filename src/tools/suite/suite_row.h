#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/timing/bench_report.h"

namespace kdl::tools {

/// What became of a problem.
enum class Verdict : uint8_t {
  Right,    ///< the results are within the bounds, and every wrong control is rejected
  Wrong,    ///< the results differ from the reference or violate a contract
  Weak,     ///< the results are within the bounds, but so is a wrong control
  Failed,   ///< a process ended with an error, such as a problem that does not compile
  Crashed,  ///< a process was ended by a signal
  Late,     ///< a process exceeded the limit of its problem
};

std::string_view VerdictText(Verdict verdict);

/// The time of a baseline, or why it has none.
struct BaselineTime {
  std::string name;
  std::string version;
  std::optional<double> seconds;
  std::string note;
};

/// The result of a problem on a target.
struct SuiteRow {
  std::string problem;
  std::string sizes;
  std::string target;
  int threads = 0;
  std::string options;  ///< those of the command that determine the problem's code and arguments
  Verdict verdict = Verdict::Failed;
  std::optional<double> error;  ///< the largest error, divided by its bound
  std::string note;
  std::optional<BenchRow> times;
  std::vector<BaselineTime> baselines;
};

/// Returns the row as one line of JSON, as in the log of --resume.
std::string RowJson(const SuiteRow& row);
/// Parses such a line. Returns nothing for a line that was only partly written.
std::optional<SuiteRow> ParseRow(std::string_view line);

/// What the table looks like.
struct SuiteTable {
  bool times = false;     ///< whether the rows have times
  size_t name_width = 0;  ///< of the longest name of a problem
};

/// Returns the head of the table, and a line for each row.
std::string SuiteHead(const SuiteTable& table);
std::string SuiteLine(const SuiteRow& row, const SuiteTable& table);
/// Returns the lines below the table: how many problems are right, the geometric mean of the ratios to each
/// baseline, and the baselines that are missing.
std::string SuiteSummary(const std::vector<SuiteRow>& rows);
/// Returns all rows as a JSON array.
std::string SuiteJson(const std::vector<SuiteRow>& rows);
/// Returns the rows that have times, named by their problems.
std::vector<BenchRow> TimesOf(const std::vector<SuiteRow>& rows);

}  // namespace kdl::tools
