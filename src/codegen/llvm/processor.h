#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/common/compiled.h"

namespace kdl::codegen {

/// A processor, in the terms of LLVM and of the runtime.
struct Processor {
  std::string arch;                ///< name in file names and images: `x86-64`
  std::string level;               ///< name in symbols: `x86-64-v3`
  std::string triple;              ///< LLVM's target triple
  std::string cpu;                 ///< LLVM's name for the CPU: `x86-64-v3`
  std::string tune;                ///< LLVM's name for the CPU to tune for; if empty, `cpu`
  std::string features;            ///< LLVM's features, comma-separated; may be empty
  uint64_t required_features = 0;  ///< bits of kdl_variant::required_features
  bool has_fma = true;             ///< has fma instructions; if not, soft/ emulates them
  bool has_half = true;            ///< converts from and to f16; if not, soft/ emulates that
  bool computes_half = false;      ///< has + - * / sqrt for f16
  int scalable_bits = 0;           ///< assumed length of scalable vectors in bits; 0 if it has none
  std::vector<StepInstruction> steps;

  bool operator==(const Processor&) const = default;
};

}  // namespace kdl::codegen
