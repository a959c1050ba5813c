#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "ir/unit.h"
#include "kdl/kernel_abi.h"
#include "targets/units.h"

namespace kdl::cpu {

/// What `vdpbf16ps` of AVX-512 BF16 computes.
using targets::kBf16Pairs;

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
static_assert(std::ranges::none_of(kUnits,
                                   [](const ir::Unit* unit) {
                                     return unit->order == ir::StepOrder::Pairs;
                                   }),
              "its passes take terms one by one");

}  // namespace kdl::cpu
