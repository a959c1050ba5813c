#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kdl::tools {

/// The results of `kernelc bench` for a kernel at its sizes. Times are in seconds.
struct BenchRow {
  std::string kernel;
  std::string sizes;  ///< such as `M=512 N=512`
  std::string device;
  int threads = 0;  ///< number of threads on the host; 0 for other devices
  double median = 0;
  double spread = 0;                ///< distance between the quartiles, divided by the median
  std::optional<double> by_device;  ///< median time in the kernel by the device's own clock
  int trials = 0;
  double bytes = 0;  ///< bytes of all tensors that are read, plus those of all that are written
  std::optional<double> operations;  ///< nothing if the number depends on the data
  std::optional<double> ceiling;     ///< minimum time on this machine, divided by the median
  /// f32 operations per second on all threads; 0 if not measured.
  double peak = 0;
  double bandwidth = 0;  ///< bytes per second at these sizes; 0 if not measured
  /// The other file's time divided by this one's: the median over the trials.
  std::optional<double> against;
  std::optional<double> against_spread;
};

/// The optional columns of the table. BenchHead and BenchLine return its head and a row.
struct BenchColumns {
  bool by_device = false;  ///< for devices other than the host
  bool against = false;
};
std::string BenchHead(const BenchColumns& columns);
std::string BenchLine(const BenchRow& row, const BenchColumns& columns);

/// Returns an array of objects with the members of BenchRow.
std::string BenchJson(const std::vector<BenchRow>& rows);

/// Returns a roofline plot: operations per second against operations per byte for each row, and the
/// limits of the machine.
std::string RooflineSvg(const std::vector<BenchRow>& rows);

}  // namespace kdl::tools
