#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kdl::tools {

/// The results of `kernelc bench` for one kernel at given sizes. Times are in seconds.
struct BenchRow {
  std::string kernel;
  std::string sizes;  ///< such as `M=512 N=512`
  std::string device;
  int threads = 0;  ///< number of threads on the host; 0 for other devices
  double median = 0;
  double spread = 0;  ///< distance between the quartiles, divided by the median
  /// Median time in the kernel, measured by the device's own clock.
  std::optional<double> by_device;
  int trials = 0;
  /// Total size in bytes of all tensors that are read, plus that of all tensors that are written.
  double bytes = 0;
  std::optional<double> operations;  ///< number of operations; nothing if it depends on the data
  /// Minimum time that this machine needs, divided by the median time.
  std::optional<double> ceiling;
  /// f32 operations per second on all threads; 0 if not measured.
  double peak = 0;
  double bandwidth = 0;  ///< bytes per second at these sizes; 0 if not measured
  /// The time of the file given with --against, divided by the time of this file; the median over
  /// the trials.
  std::optional<double> against;
  std::optional<double> against_spread;
  std::string remark;  ///< what makes the kernel slow; empty if nothing is known
};

/// The optional columns of the table. BenchHead returns the table's head, and BenchLine returns a
/// row.
struct BenchColumns {
  bool by_device = false;  ///< for devices other than the host
  bool against = false;
};
std::string BenchHead(const BenchColumns& columns);
std::string BenchLine(const BenchRow& row, const BenchColumns& columns);
/// Returns a line with the row's remark if the row is below 40 % of its ceiling, otherwise an empty string.
std::string BenchRemarkLine(const BenchRow& row);

/// The columns of a row that contain its time and rates, and their head.
std::string BenchTimesHead();
std::string BenchTimes(const BenchRow& row);

/// Returns a JSON array of objects, whose keys are the members of BenchRow.
std::string BenchJson(const std::vector<BenchRow>& rows);
/// Parses what BenchJson returns, one of its objects, or the object of `--json`. Returns the first row, or nothing for another text.
std::optional<BenchRow> ParseBenchRow(std::string_view text);

}  // namespace kdl::tools
