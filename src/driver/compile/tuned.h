#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile/session.h"
#include "driver/compile/target_code.h"

namespace kdl::driver {

/// Values of constants, by name.
using Tiles = std::map<std::string, int64_t>;

/// Returns a text such as `BK=192 BM=336`.
std::string TilesText(const Tiles& tiles);

/// Measurements of a kernel on a level of a target. They represent all sizes of the same class,
/// that is, with the same number of binary digits.
struct TunedKernel {
  struct Trial {
    Tiles tiles;
    double gain = 0;  ///< speedup over the selector's choice; 0 if the trial failed
    std::string failure{};
  };
  std::string kernel;  ///< an instance, such as `matmul.f32`
  std::string level;
  int threads = 0;  ///< number of threads on the host; 0 for other devices
  Tiles sizes;
  Tiles selector;  ///< the selector's choice
  std::vector<Trial> trials{};

  /// Smaller gains are noise.
  static constexpr double kWorthwhile = 1.02;
  /// Longer blocks are neither tried nor chosen.
  static constexpr int64_t kLongestBlock = int64_t{1} << 16;
  /// Rounds a gain as it is written to the file, so that a resumed search decides like one that was
  /// not interrupted.
  static double AsWritten(double gain);
  /// Returns the trial with the largest gain, or null if none has one.
  const Trial* Best() const;
  const Trial* Find(const Tiles& tiles) const;
  /// Whether both are for the same kernel, level and number of threads, and for sizes of the same
  /// class.
  bool SameKey(const TunedKernel& other) const;
};

/// Convert between a list of TunedKernels and the text of a file. ReadTuned returns nothing after
/// an error, which is reported.
std::string TunedText(const std::vector<TunedKernel>& kernels);
std::optional<std::vector<TunedKernel>> ReadTuned(const std::string& path, const std::string& text,
                                                  DiagnosticEngine& diagnostics);

/// The contents of a tuning file, and what a compile has looked up in it.
struct TunedFile {
  std::vector<TunedKernel> kernels;
  std::string unknown{};  ///< the first one that was not found, such as `'matmul.f32' on opencl`
  bool knew_one = false;
};

/// Reads the file of --tuned. Returns null after an error, which is reported.
std::shared_ptr<TunedFile> ReadTunedFile(Session& session);

/// Returns selectors that use the file. If it has several entries for a kernel and level, they use
/// the one with the most sizes in the class of those of --set, or else the first one.
SelectorAround TakeTuned(Session& session, std::shared_ptr<TunedFile> file);

/// Warns if the selectors found none of their kernels in the file.
void ReportUnknown(const TunedFile& file, Session& session);

}  // namespace kdl::driver
