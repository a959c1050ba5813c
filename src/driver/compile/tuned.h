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

/// `BK=192 BM=336`.
std::string TilesText(const Tiles& tiles);

/// What was measured of a kernel on a level of a target, at sizes that stand for all of their class: those with as many binary
/// digits.
struct TunedKernel {
  struct Trial {
    Tiles tiles;
    double gain = 0;  ///< the time of the selector's choice by its own; 0: it failed
    std::string failure{};
  };
  std::string kernel;  ///< an instance: `matmul.f32`
  std::string level;
  int threads = 0;  ///< of the host; 0: another device
  Tiles sizes;
  Tiles selector;  ///< what it chooses
  std::vector<Trial> trials{};

  /// Gains below that are noise.
  static constexpr double kWorthwhile = 1.02;
  /// Longer blocks are neither tried nor taken.
  static constexpr int64_t kLongestBlock = int64_t{1} << 16;
  /// What stays of a gain in the file: a search that goes on from there decides as one that was not stopped.
  static double AsWritten(double gain);
  /// The trial that gained most; null: none gained.
  const Trial* Best() const;
  const Trial* Find(const Tiles& tiles) const;
  /// Whether it speaks of the same kernel, level and threads, and sizes of one class.
  bool SameKey(const TunedKernel& other) const;
};

/// The text of a file of them, and what such a text says; nothing after a report.
std::string TunedText(const std::vector<TunedKernel>& kernels);
std::optional<std::vector<TunedKernel>> ReadTuned(const std::string& path, const std::string& text,
                                                  DiagnosticEngine& diagnostics);

/// A file of them, and what a compile has asked it.
struct TunedFile {
  std::vector<TunedKernel> kernels;
  std::string
      unknown{};  ///< the first that was asked for and is not there: `'matmul.f32' on opencl`
  bool knew_one = false;
};

/// The file of --tuned; null after a report.
std::shared_ptr<TunedFile> ReadTunedFile(Session& session);

/// Selectors that take what the file says. Where it has several entries for a kernel and level, the one most of whose sizes
/// are of the class of those of --set, else the first.
SelectorAround TakeTuned(Session& session, std::shared_ptr<TunedFile> file);

/// Says so where the file spoke of nothing that the selectors have asked it.
void ReportUnknown(const TunedFile& file, Session& session);

}  // namespace kdl::driver
