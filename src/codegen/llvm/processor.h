#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/common/compiled.h"

namespace kdl::codegen {

/// A processor, as LLVM and the runtime know it.
struct Processor {
  std::string arch;                ///< in file names and images: `x86-64`
  std::string level;               ///< in symbols: `x86-64-v3`
  std::string triple;              ///< LLVM's
  std::string cpu;                 ///< LLVM's: `x86-64-v3`
  std::string tune;                ///< LLVM's: the processor whose timing counts; empty: `cpu`
  std::string features;            ///< LLVM's, comma-separated, may be empty
  uint64_t required_features = 0;  ///< bits of kdl_variant::required_features
  bool has_fma = true;             ///< else soft/ makes it of other operations
  bool has_half = true;            ///< conversions from and to f16; else as well
  bool computes_half = false;      ///< + - * / sqrt of f16
  int scalable_bits =
      0;  ///< of vectors whose length instructions leave open, and code for this processor does not; 0: none
  std::vector<StepInstruction> steps;

  bool operator==(const Processor&) const = default;
};

}  // namespace kdl::codegen
