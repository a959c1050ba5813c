#pragma once

#include "interp/core.h"

namespace kdl::interp {

/// The results of an op in both runs.
struct OpPair {
  const Core& core;  ///< the run in the kernel's types, after the op
  const Instruction& instruction;
  const Activation& here;   ///< the values of the op
  const Activation& exact;  ///< the values of the same op in f64
  const Instruction& exact_instruction;
};

}  // namespace kdl::interp
