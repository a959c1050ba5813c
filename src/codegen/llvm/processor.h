#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/common/compiled.h"

namespace kdl::codegen {

/// A processor, as LLVM and the runtime describe it.
struct Processor {
  std::string arch;                ///< as in file names and images: `x86-64`
  std::string level;               ///< as in symbols: `x86-64-v3`
  std::string triple;              ///< for LLVM
  std::string cpu;                 ///< for LLVM: `x86-64-v3`
  std::string tune;                ///< for LLVM: the CPU to tune for; empty: `cpu`
  std::string features;            ///< for LLVM, comma-separated, may be empty
  uint64_t required_features = 0;  ///< bits of kdl_variant::required_features
  bool has_fma = true;             ///< has fma instructions; if not, soft/ emulates them
  bool has_half = true;            ///< converts from and to f16; if not, soft/ emulates that
  bool computes_half = false;      ///< has + - * / sqrt for f16
  int scalable_bits = 0;           ///< assumed length of scalable vectors; 0: has none
  std::vector<StepInstruction> steps;

  bool operator==(const Processor&) const = default;
};

}  // namespace kdl::codegen
