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

/// Values of constants, keyed by name.
using Tiles = std::map<std::string, int64_t>;

/// Returns text such as `BK=192 BM=336`.
std::string TilesText(const Tiles& tiles);

/// Measurements of a kernel on one level of a target. They apply to all sizes of the same class,
/// that is, to sizes with the same number of binary digits.
struct TunedKernel {
  struct Trial {
    Tiles tiles;
    double gain = 0;  ///< speedup over the selector's choice; 0 if the trial failed
    std::string failure{};
  };
  std::string kernel;  ///< an instance of a kernel, such as `matmul.f32`
  std::string level;
  int threads = 0;  ///< number of threads on the host; 0 for other devices
  Tiles sizes;
  Tiles selector;  ///< the tile sizes that the target's selector chooses
  std::vector<Trial> trials{};

  /// Smaller gains count as noise.
  static constexpr double kWorthwhile = 1.02;
  /// Longer blocks are not tried or chosen.
  static constexpr int64_t kLongestBlock = int64_t{1} << 16;
  /// Rounds a gain to the precision of the file, so that a resumed search makes the same decisions
  /// as an uninterrupted one.
  static double AsWritten(double gain);
  /// Returns the trial with the largest gain, or null if no gain is worthwhile.
  const Trial* Best() const;
  const Trial* Find(const Tiles& tiles) const;
  /// Whether both entries have the same kernel, level and number of threads, and sizes of the same
  /// class.
  bool SameKey(const TunedKernel& other) const;
};

/// Convert between TunedKernels and the text of a tuning file. On error, ReadTuned reports it and
/// returns nothing.
std::string TunedText(const std::vector<TunedKernel>& kernels);
std::optional<std::vector<TunedKernel>> ReadTuned(const std::string& path, const std::string& text,
                                                  DiagnosticEngine& diagnostics);

/// The contents of a tuning file, and the result of looking up kernels in it.
struct TunedFile {
  std::vector<TunedKernel> kernels;
  std::string unknown{};  ///< the first kernel that was not found, such as `'matmul.f32' on opencl`
  bool knew_one = false;
};

/// Reads the file given with --tuned. On error, reports it and returns null.
std::shared_ptr<TunedFile> ReadTunedFile(Session& session);

/// Returns selectors that use the file. If it has several entries for a kernel and level, they use
/// the entry with the most sizes in the same class as those of --set. Among equal entries, the
/// first is used.
SelectorAround TakeTuned(Session& session, std::shared_ptr<TunedFile> file);

/// Warns if the file contains none of the kernels that the selectors looked up.
void ReportUnknown(const TunedFile& file, Session& session);

}  // namespace kdl::driver
