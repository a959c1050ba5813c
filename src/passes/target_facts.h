#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/matrix_instruction.h"
#include "ir/module.h"

namespace kdl::passes {

/// What passes may know of any target at compile time. Families of targets derive records of their own from it.
struct TargetFacts {
  TargetFacts() = default;
  TargetFacts(const TargetFacts&) = default;
  TargetFacts& operator=(const TargetFacts&) = default;
  virtual ~TargetFacts() = default;

  std::string arch;                ///< in file names and images: `x86-64`
  std::string level;               ///< of the arch; in symbols and messages: `x86-64-v3`
  uint64_t required_features = 0;  ///< bits of kdl_variant::required_features
  int vector_bits = 128;
  int64_t scratch_bytes = int64_t{1} << 30;  ///< that the buffers of one core may take at once
  int64_t workgroup_limit =
      0;  ///< that the buffers of a core's team may take in all; 0: as much as fits elsewhere
  bool split_engines =
      false;  ///< contractions run on a unit of their own, everything else on another
  bool pipes_on_chip = false;  ///< pipes need no memory of the program's
  std::vector<const ir::MatrixInstruction*>
      instructions;  ///< whose steps its contractions take, the best one first
  std::vector<const ir::MatrixInstruction*> native;  ///< those of them whose step is an instruction
  /// The level whose code runs here, too, and is as good for kernels that have no use for what is native; empty: none.
  std::string extends;
  bool exact = true;  ///< agrees with the interpreter to the bit
};

/// Chooses the `auto` generics of a kernel for one target: total and deterministic.
class TileSelector {
 public:
  virtual ~TileSelector() = default;
  /// A value for every generic of `kernel` that is `auto` and unbound, in the order of Function::generics.
  virtual std::vector<int64_t> Select(const ir::Function& kernel) const = 0;
  /// How it came to that, in lines of text; empty: it does not say.
  virtual std::string Explain(const ir::Function&) const { return ""; }
};

}  // namespace kdl::passes
