#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::driver {

// A file of schedules, which `kernelc tune` writes and --tuned names, is YAML:
//
//   schedules:
//     - kernel: matmul.f32
//       source: 9c1f4ae35b0d7721      # of the kernel that was measured; another one is an error
//       target: x86-64-v3
//       threads: 4
//       sizes: {K: 256, M: 256, N: 256}
//       gain: 1.084
//       tiles: {BK: 96, BM: 336, BN: 256}
//       passes:
//         - distribute-blocks: {order: 2, cores: 2}

/// Values by name.
using Tiles = std::map<std::string, int64_t>;

/// Returns text such as `BK=192 BM=336`.
std::string TilesText(const Tiles& tiles);

/// Where a file sets a value, counted from 1.
struct SchedulePlace {
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t length = 1;
};

/// How to compile a kernel for one level of a target. Applies to all sizes of the same class, that is, to sizes with
/// the same number of binary digits.
struct Schedule {
  std::string kernel;  ///< an instance of a kernel, such as `matmul.f32`
  std::string source;  ///< the hash of the kernel (kernel_hash.h)
  std::string target;  ///< the level, such as `x86-64-v3`
  int threads = 0;  ///< the number of threads that were measured; 0 for other devices than the host
  Tiles sizes;
  double gain = 1;                           ///< speedup over what the compiler chooses itself
  Tiles tiles = {};                          ///< values of `auto` constants
  std::map<std::string, Tiles> passes = {};  ///< values of options, by pass

  SchedulePlace source_place = {};
  std::map<std::string, SchedulePlace> tile_places = {};
  std::map<std::string, SchedulePlace> pass_places = {};  ///< by `PASS` and by `PASS.OPTION`

  /// Whether both schedules have the same kernel, target and number of threads, and sizes of the same class.
  bool SameKey(const Schedule& other) const;
};

/// Whether sizes have the same number of binary digits.
bool SameClass(int64_t a, int64_t b);

/// Convert between schedules and the text of a file. On error, ReadSchedules reports it and returns nothing.
std::string SchedulesText(const std::vector<Schedule>& schedules);
std::optional<std::vector<Schedule>> ReadSchedules(const std::string& path, const std::string& text,
                                                   SourceManager& sources,
                                                   DiagnosticEngine& diagnostics);

/// Longer blocks are not tried or chosen.
inline constexpr int64_t kLongestBlock = int64_t{1} << 16;

/// The maximum size of such a file.
inline constexpr size_t kMostScheduleBytes = size_t{16} << 20;

}  // namespace kdl::driver
