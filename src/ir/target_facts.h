#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// What passes and code generators may know of a device at compile time. Data only; a folder of src/targets fills it.
struct TargetFacts {
  std::string kind;                ///< of the device spec: `host`
  std::string arch;                ///< in file names and images: `x86-64`
  std::string triple;              ///< LLVM's
  std::string cpu;                 ///< LLVM's: `x86-64-v3`
  std::string tune;                ///< LLVM's: the processor whose timing counts; empty: `cpu`
  std::string features;            ///< LLVM's, comma-separated, may be empty
  uint64_t required_features = 0;  ///< bits of kdl_variant::required_features
  int vector_bits = 128;
  int vector_registers = 16;
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 1 << 20;
  int64_t last_level_bytes = 0;  ///< an output above this goes past the caches; 0: none does
  int64_t cache_line_bytes = 64;
  bool split_units =
      false;  ///< contractions run on a unit of their own, everything else on another
  bool pipes_on_chip = false;  ///< pipes need no memory of the program's
  bool exact = true;           ///< agrees with the interpreter to the bit
};

/// A block of accumulators that is `columns` vectors wide may be so many rows high: they, a vector a column and one of a
/// spread scalar fill the registers.
inline int64_t BlockRows(const TargetFacts& facts, int64_t columns) {
  return (facts.vector_registers - 1 - columns) / columns;
}
/// The columns of a block: with two each spread scalar is used twice, and many rows still fit.
inline constexpr int64_t kBlockColumns = 2;

/// Chooses the `auto` generics of a kernel for a target: total and deterministic.
class TileSelector {
 public:
  virtual ~TileSelector() = default;
  /// A value for every generic of `kernel` that is `auto` and unbound, in the order of Function::generics.
  virtual std::vector<int64_t> Select(const Function& kernel, const TargetFacts& facts) const = 0;
};

}  // namespace kdl::ir
