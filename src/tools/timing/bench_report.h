#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kdl::tools {

/// What `kernelc bench` found of a kernel at its sizes. Times in seconds.
struct BenchRow {
  std::string kernel;
  std::string sizes;  ///< `M=512 N=512`
  std::string device;
  int threads = 0;  ///< of the host; 0: another device
  double median = 0;
  double spread = 0;                ///< distance of the quartiles, by the median
  std::optional<double> by_device;  ///< the median by its own clock, in the kernel alone
  int trials = 0;
  double bytes = 0;  ///< of all tensors, each once where it is read and once where it is written
  std::optional<double> operations;  ///< nothing: they depend on the data
  std::optional<double> ceiling;     ///< the time that this machine needs at least, by the median
  double peak = 0;                   ///< f32 operations a second, of all threads; 0: not measured
  double bandwidth = 0;              ///< bytes a second at these sizes; 0: not measured
  std::optional<double>
      against;  ///< the other file's time by this one's: the median of the trials' quotients
  std::optional<double> against_spread;
};

/// The table's head, and a line of it.
struct BenchColumns {
  bool by_device = false;  ///< of devices but the host
  bool against = false;
};
std::string BenchHead(const BenchColumns& columns);
std::string BenchLine(const BenchRow& row, const BenchColumns& columns);

/// An array of objects, in the words of BenchRow.
std::string BenchJson(const std::vector<BenchRow>& rows);

/// A picture: how many operations a second each row does, by how many it does for a byte, under what the machine can do.
std::string RooflineSvg(const std::vector<BenchRow>& rows);

}  // namespace kdl::tools
