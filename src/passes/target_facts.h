#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/matrix_instruction.h"
#include "ir/module.h"

namespace kdl::passes {

/// The properties of a target that every pass may use. Families of targets derive their own classes from this
/// class.
struct TargetFacts {
  TargetFacts() = default;
  TargetFacts(const TargetFacts&) = default;
  TargetFacts& operator=(const TargetFacts&) = default;
  virtual ~TargetFacts() = default;

  std::string arch;                ///< the name in file names and images: `x86-64`
  std::string level;               ///< the level in symbols and messages: `x86-64-v3`
  uint64_t required_features = 0;  ///< bits of kdl_variant::required_features
  int vector_bits = 128;
  int64_t scratch_bytes = int64_t{1} << 30;  ///< limit on the total size of one core's live buffers
  /// Limit on the total size of all buffers in a workgroup; 0 means no limit.
  int64_t workgroup_limit = 0;
  /// Whether contractions run on one engine and everything else on another.
  bool split_engines = false;
  bool pipes_on_chip = false;  ///< whether pipes need no memory from the program
  /// Matrix instructions for contractions, best first.
  std::vector<const ir::MatrixInstruction*> instructions;
  /// Those of `instructions` that are machine instructions.
  std::vector<const ir::MatrixInstruction*> native;
  /// A lower level of the same architecture, whose code also runs on this target and is equally good for
  /// kernels without native instructions. Empty if there is none.
  std::string extends;
  /// How many groups of blocks keep all cores busy. If there are more, their partial results only take memory, also in
  /// caches (tests/bench/NOTES.md, "reduce and histograms"). A power of two, at least 64.
  int64_t enough_groups = 64;
  bool exact = true;             ///< whether results equal the interpreter's bit for bit
  bool shows_variables = false;  ///< whether debuggers can show variables of kernels
};

/// Chooses values for the `auto` generics of a kernel for one target. The choice always succeeds and is
/// deterministic.
class TileSelector {
 public:
  virtual ~TileSelector() = default;
  /// Returns a value for every generic of `kernel` that is `auto` and unbound, in the order of
  /// Function::generics.
  virtual std::vector<int64_t> Select(const ir::Function& kernel) const = 0;
  /// Explains the choice in lines of text, or returns an empty string.
  virtual std::string Explain(const ir::Function&) const { return ""; }
};

}  // namespace kdl::passes
