#pragma once

#include <cstdint>
#include <string_view>

#include "ir/unit.h"
#include "kdl/kernel_abi.h"

namespace kdl::cpu {

/// What `vdpbf16ps` of AVX-512 BF16 computes, and FMAs where it is missing: all levels give the same bits.
inline constexpr ir::Unit kBf16Pairs{.name = "cpu.bf16_pairs",
                                     .factors = kdl::Scalar::BF16,
                                     .acc = kdl::Scalar::F32,
                                     .depth = 2,
                                     .last_first = true,
                                     .flushes = true,
                                     .term = ir::OpKind::FmaFlush};

/// A unit whose step is an instruction of processors with the features, bits of abi.def.
struct Instruction {
  const ir::Unit* unit;
  uint64_t features;
  std::string_view intrinsic;
};
inline constexpr Instruction kInstructions[] = {
    {&kBf16Pairs, uint64_t{1} << KDL_FEATURE_BIT_X86_AVX512BF16, "llvm.x86.avx512bf16.dpbf16ps"}};

/// Of every processor.
inline constexpr const ir::Unit* kUnits[] = {&kBf16Pairs};

}  // namespace kdl::cpu
