#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/matrix_instruction.h"
#include "ir/module.h"

namespace kdl::passes {

/// What passes may know about any target at compile time. Families of targets derive their own classes from
/// this class.
struct TargetFacts {
  TargetFacts() = default;
  TargetFacts(const TargetFacts&) = default;
  TargetFacts& operator=(const TargetFacts&) = default;
  virtual ~TargetFacts() = default;

  std::string arch;                ///< as in file names and images: `x86-64`
  std::string level;               ///< level of the arch, as in symbols and messages: `x86-64-v3`
  uint64_t required_features = 0;  ///< bits of kdl_variant::required_features
  int vector_bits = 128;
  int64_t scratch_bytes = int64_t{1} << 30;  ///< limit on the live buffers of one core
  int64_t workgroup_limit = 0;  ///< limit on all buffers of a core's workgroup; 0: no limit
  bool split_engines = false;   ///< contractions run on one engine, everything else on another
  bool pipes_on_chip = false;   ///< pipes need no memory from the program
  std::vector<const ir::MatrixInstruction*>
      instructions;  ///< matrix instructions for contractions, best first
  std::vector<const ir::MatrixInstruction*>
      native;  ///< those of `instructions` that are machine instructions
  /// A lower level whose code also runs on this target. That code is equally good for kernels that do not
  /// use the native instructions. Empty if there is none.
  std::string extends;
  bool exact = true;  ///< results equal the interpreter's bit for bit
};

/// Chooses the `auto` generics of a kernel for one target. It always finds values, and the same ones each
/// time.
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
