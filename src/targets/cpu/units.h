#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "ir/unit.h"
#include "kdl/kernel_abi.h"
#include "targets/units.h"

namespace kdl::cpu {

/// What `vdpbf16ps` of AVX-512 BF16 computes.
using targets::kBf16Pairs;

/// Integers are multiplied exactly and added up in 32 bits that wrap, whatever takes how many of them at once.
constexpr ir::Unit IntegerUnit(std::string_view name, kdl::Scalar a, kdl::Scalar b,
                               kdl::Scalar acc) {
  return {.name = name,
          .a = a,
          .b = b,
          .acc = acc,
          .depth = a == kdl::Scalar::I16 ? 2 : 4,
          .order = ir::StepOrder::Any,
          .flushes = false,
          .term = ir::OpKind::Mul};
}
inline constexpr ir::Unit kBytes =
    IntegerUnit("x86.vpdpbusd", kdl::Scalar::U8, kdl::Scalar::I8, kdl::Scalar::I32);
inline constexpr ir::Unit kBytesU32 =
    IntegerUnit("x86.vpdpbusd_u32", kdl::Scalar::U8, kdl::Scalar::I8, kdl::Scalar::U32);
inline constexpr ir::Unit kWords =
    IntegerUnit("x86.vpdpwssd", kdl::Scalar::I16, kdl::Scalar::I16, kdl::Scalar::I32);
inline constexpr ir::Unit kWordsU32 =
    IntegerUnit("x86.vpdpwssd_u32", kdl::Scalar::I16, kdl::Scalar::I16, kdl::Scalar::U32);
inline constexpr ir::Unit kMadd =
    IntegerUnit("x86.vpmaddwd", kdl::Scalar::I16, kdl::Scalar::I16, kdl::Scalar::I32);
inline constexpr ir::Unit kMaddU32 =
    IntegerUnit("x86.vpmaddwd_u32", kdl::Scalar::I16, kdl::Scalar::I16, kdl::Scalar::U32);

using SumIntrinsics = std::array<std::string_view, 3>;  ///< of sums of 128, 256 and 512 bits

/// A unit whose step is an instruction of processors with the features, bits of abi.def.
struct Instruction {
  const ir::Unit* unit;
  uint64_t features;
  std::string_view intrinsic;
  SumIntrinsics sums = {};  ///< where an addition of its own follows
};

inline constexpr SumIntrinsics kMaddSums = {"llvm.x86.sse2.pmadd.wd", "llvm.x86.avx2.pmadd.wd",
                                            "llvm.x86.avx512.pmaddw.d.512"};

namespace features {
inline constexpr uint64_t kAvx2 = uint64_t{1} << KDL_FEATURE_BIT_X86_AVX2;
inline constexpr uint64_t kAvxVnni = uint64_t{1} << KDL_FEATURE_BIT_X86_AVXVNNI;
inline constexpr uint64_t kAvx512Vnni = uint64_t{1} << KDL_FEATURE_BIT_X86_AVX512VNNI;
inline constexpr uint64_t kAvx512Bf16 = uint64_t{1} << KDL_FEATURE_BIT_X86_AVX512BF16;
}  // namespace features

/// The best one first, of those that multiply the same.
inline constexpr Instruction kInstructions[] = {
    {&kBf16Pairs, features::kAvx512Bf16, "llvm.x86.avx512bf16.dpbf16ps"},
    {&kBytes, features::kAvx512Vnni, "llvm.x86.avx512.vpdpbusd"},
    {&kBytes, features::kAvxVnni, "llvm.x86.avx512.vpdpbusd"},
    {&kBytesU32, features::kAvx512Vnni, "llvm.x86.avx512.vpdpbusd"},
    {&kBytesU32, features::kAvxVnni, "llvm.x86.avx512.vpdpbusd"},
    {&kWords, features::kAvx512Vnni, "llvm.x86.avx512.vpdpwssd"},
    {&kWords, features::kAvxVnni, "llvm.x86.avx512.vpdpwssd"},
    {&kWordsU32, features::kAvx512Vnni, "llvm.x86.avx512.vpdpwssd"},
    {&kWordsU32, features::kAvxVnni, "llvm.x86.avx512.vpdpwssd"},
    {&kMadd, features::kAvx2, "", kMaddSums},
    {&kMaddU32, features::kAvx2, "", kMaddSums},
};

/// Of every processor: the language's definitions are.
inline constexpr const ir::Unit* kDefined[] = {&kBf16Pairs};
/// All that one of them may have.
inline constexpr const ir::Unit* kUnits[] = {&kBf16Pairs, &kBytes, &kBytesU32, &kWords,
                                             &kWordsU32,  &kMadd,  &kMaddU32};
static_assert(std::ranges::none_of(kDefined,
                                   [](const ir::Unit* unit) {
                                     return unit->order == ir::StepOrder::Pairs;
                                   }),
              "its passes take terms one by one");

}  // namespace kdl::cpu
