#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "ir/matrix_instruction.h"
#include "ir/op_kind.h"
#include "kdl/kernel_abi.h"
#include "targets/instructions.h"

namespace kdl::cpu {

/// The semantics of the instruction `vdpbf16ps` of AVX-512 BF16.
using targets::kBf16Pairs;

/// An integer instruction. It multiplies exactly and adds with wraparound in 32 bits, so the result does not
/// depend on the number of terms that it adds at once.
constexpr ir::MatrixInstruction IntegerInstruction(std::string_view name, Scalar a, Scalar b,
                                                   Scalar acc) {
  return {.name = name,
          .a = a,
          .b = b,
          .acc = acc,
          .depth = a == Scalar::I16 ? 2 : 4,
          .order = ir::StepOrder::Any,
          .flushes = false,
          .term = ir::OpKind::Mul};
}
/// An AMX instruction. Its tiles have 16 groups of terms in each row and column.
constexpr ir::MatrixInstruction TileInstruction(std::string_view name, Scalar a, Scalar b,
                                                Scalar acc) {
  ir::MatrixInstruction instruction = IntegerInstruction(name, a, b, acc);
  instruction.tile_groups = 16;
  return instruction;
}
/// An aarch64 matrix instruction, which multiplies two rows by two columns of eight terms each.
constexpr ir::MatrixInstruction BlockInstruction(std::string_view name, Scalar a, Scalar b,
                                                 Scalar acc) {
  ir::MatrixInstruction instruction = IntegerInstruction(name, a, b, acc);
  instruction.depth = 8;
  instruction.tile_groups = 1;
  return instruction;
}
inline constexpr ir::MatrixInstruction kBytes =
    IntegerInstruction("x86.vpdpbusd", Scalar::U8, Scalar::I8, Scalar::I32);
inline constexpr ir::MatrixInstruction kBytesU32 =
    IntegerInstruction("x86.vpdpbusd_u32", Scalar::U8, Scalar::I8, Scalar::U32);
inline constexpr ir::MatrixInstruction kWords =
    IntegerInstruction("x86.vpdpwssd", Scalar::I16, Scalar::I16, Scalar::I32);
inline constexpr ir::MatrixInstruction kWordsU32 =
    IntegerInstruction("x86.vpdpwssd_u32", Scalar::I16, Scalar::I16, Scalar::U32);
inline constexpr ir::MatrixInstruction kMadd =
    IntegerInstruction("x86.vpmaddwd", Scalar::I16, Scalar::I16, Scalar::I32);
inline constexpr ir::MatrixInstruction kMaddU32 =
    IntegerInstruction("x86.vpmaddwd_u32", Scalar::I16, Scalar::I16, Scalar::U32);
/// AMX instructions, which accumulate whole tiles. They are used if the factors have the layout that they
/// need. They also add with wraparound, so vector instructions would give the same results.
inline constexpr ir::MatrixInstruction kTileBytes =
    TileInstruction("x86.tdpbusd", Scalar::U8, Scalar::I8, Scalar::I32);
inline constexpr ir::MatrixInstruction kTileBytesU32 =
    TileInstruction("x86.tdpbusd_u32", Scalar::U8, Scalar::I8, Scalar::U32);
inline constexpr ir::MatrixInstruction kTileSigned =
    TileInstruction("x86.tdpbssd", Scalar::I8, Scalar::I8, Scalar::I32);
inline constexpr ir::MatrixInstruction kTileSignedU32 =
    TileInstruction("x86.tdpbssd_u32", Scalar::I8, Scalar::I8, Scalar::U32);
inline constexpr ir::MatrixInstruction kTileUnsigned =
    TileInstruction("x86.tdpbuud", Scalar::U8, Scalar::U8, Scalar::U32);
inline constexpr ir::MatrixInstruction kTileUnsignedI32 =
    TileInstruction("x86.tdpbuud_i32", Scalar::U8, Scalar::U8, Scalar::I32);
/// The semantics of TDPBF16PS for tiles with 16 pairs in a row. It accumulates the even and the odd terms
/// separately, in sequential order, with FMAs that flush subnormals.
inline constexpr ir::MatrixInstruction kTileBf16{.name = "x86.tdpbf16ps",
                                                 .a = Scalar::BF16,
                                                 .b = Scalar::BF16,
                                                 .acc = Scalar::F32,
                                                 .depth = 32,
                                                 .order = ir::StepOrder::TwoSequences,
                                                 .flushes = true,
                                                 .term = ir::OpKind::FmaFlush,
                                                 .group = 2,
                                                 .tile_groups = 16};
inline constexpr ir::MatrixInstruction kSignedBytes =
    IntegerInstruction("aarch64.sdot", Scalar::I8, Scalar::I8, Scalar::I32);
inline constexpr ir::MatrixInstruction kUnsignedBytes =
    IntegerInstruction("aarch64.udot", Scalar::U8, Scalar::U8, Scalar::U32);
inline constexpr ir::MatrixInstruction kMixedBytes =
    IntegerInstruction("aarch64.usdot", Scalar::U8, Scalar::I8, Scalar::I32);
inline constexpr ir::MatrixInstruction kSignedMatrix =
    BlockInstruction("aarch64.smmla", Scalar::I8, Scalar::I8, Scalar::I32);
inline constexpr ir::MatrixInstruction kUnsignedMatrix =
    BlockInstruction("aarch64.ummla", Scalar::U8, Scalar::U8, Scalar::U32);
inline constexpr ir::MatrixInstruction kMixedMatrix =
    BlockInstruction("aarch64.usmmla", Scalar::U8, Scalar::I8, Scalar::I32);
/// The semantics of BFDOT if FPCR.EBF is 0. It adds two products, and then adds their sum to the accumulator.
/// Each result is rounded to odd.
inline constexpr ir::MatrixInstruction kBf16Dot{.name = "aarch64.bfdot",
                                                .a = Scalar::BF16,
                                                .b = Scalar::BF16,
                                                .acc = Scalar::F32,
                                                .depth = 2,
                                                .order = ir::StepOrder::Pairs,
                                                .flushes = true,
                                                .term = ir::OpKind::Mul,
                                                .to_odd = true};
/// The semantics of BFMMLA for one row and one column: two BFDOTs, one after another.
inline constexpr ir::MatrixInstruction kBf16Matrix{.name = "aarch64.bfmmla",
                                                   .a = Scalar::BF16,
                                                   .b = Scalar::BF16,
                                                   .acc = Scalar::F32,
                                                   .depth = 4,
                                                   .order = ir::StepOrder::PairsInSequence,
                                                   .flushes = true,
                                                   .term = ir::OpKind::Mul,
                                                   .to_odd = true,
                                                   .tile_groups = 1};

/// The names of an intrinsic for vectors of 128, 256 and 512 bits.
using SumIntrinsics = std::array<std::string_view, 3>;

/// The intrinsics for tiles. The first one is used if the first factor provides the rows of the result, and
/// the second one if it provides the columns.
using TileIntrinsics = std::array<std::string_view, 2>;

/// A machine instruction that executes a step of `instruction`. Processors of the architecture `arch` have it
/// if they have all of `features` (bits of abi.def).
struct Instruction {
  std::string_view arch;
  const ir::MatrixInstruction* instruction;
  uint64_t features;
  std::string_view intrinsic;
  SumIntrinsics sums = {};  ///< set if a separate instruction adds the products to the accumulator
  TileIntrinsics tiles = {};
  /// The matrix instruction that the intrinsic computes, if it differs from `instruction` in signs or in the
  /// number of terms; null if they are the same.
  const ir::MatrixInstruction* by = nullptr;
  /// The intrinsic for processors on which vectors of more than 128 bits are scalable.
  std::string_view scalable = {};
};

inline constexpr std::string_view kBf16Step = "llvm.x86.avx512bf16.dpbf16ps";
inline constexpr std::string_view kByteStep = "llvm.x86.avx512.vpdpbusd";
inline constexpr std::string_view kSdot = "llvm.aarch64.neon.sdot";
inline constexpr std::string_view kUdot = "llvm.aarch64.neon.udot";
inline constexpr std::string_view kUsdot = "llvm.aarch64.neon.usdot";
inline constexpr std::string_view kBfdot = "llvm.aarch64.neon.bfdot";
inline constexpr TileIntrinsics kByteTiles = {"llvm.x86.tdpbusd", "llvm.x86.tdpbsud"};
inline constexpr TileIntrinsics kSignedTiles = {"llvm.x86.tdpbssd", "llvm.x86.tdpbssd"};
inline constexpr TileIntrinsics kUnsignedTiles = {"llvm.x86.tdpbuud", "llvm.x86.tdpbuud"};
inline constexpr TileIntrinsics kBf16Tiles = {"llvm.x86.tdpbf16ps", "llvm.x86.tdpbf16ps"};
inline constexpr TileIntrinsics kSmmla = {"llvm.aarch64.neon.smmla"};
inline constexpr TileIntrinsics kUmmla = {"llvm.aarch64.neon.ummla"};
inline constexpr TileIntrinsics kUsmmla = {"llvm.aarch64.neon.usmmla"};
inline constexpr TileIntrinsics kBfmmla = {"llvm.aarch64.neon.bfmmla"};
inline constexpr SumIntrinsics kMaddSums = {"llvm.x86.sse2.pmadd.wd", "llvm.x86.avx2.pmadd.wd",
                                            "llvm.x86.avx512.pmaddw.d.512"};

namespace features {
inline constexpr uint64_t kAvx2 = uint64_t{1} << KDL_FEATURE_BIT_X86_AVX2;
inline constexpr uint64_t kAvx512Bw = uint64_t{1} << KDL_FEATURE_BIT_X86_AVX512BW;
inline constexpr uint64_t kAvxVnni = uint64_t{1} << KDL_FEATURE_BIT_X86_AVXVNNI;
inline constexpr uint64_t kAvx512Vnni = uint64_t{1} << KDL_FEATURE_BIT_X86_AVX512VNNI;
inline constexpr uint64_t kAmx =
    uint64_t{1} << KDL_FEATURE_BIT_X86_AMX_TILE | uint64_t{1} << KDL_FEATURE_BIT_X86_AMX_INT8;
inline constexpr uint64_t kAvx512Bf16 = uint64_t{1} << KDL_FEATURE_BIT_X86_AVX512BF16;
inline constexpr uint64_t kAmxBf16 =
    uint64_t{1} << KDL_FEATURE_BIT_X86_AMX_TILE | uint64_t{1} << KDL_FEATURE_BIT_X86_AMX_BF16;
inline constexpr uint64_t kDotprod = uint64_t{1} << KDL_FEATURE_BIT_AARCH64_DOTPROD;
inline constexpr uint64_t kI8mm = uint64_t{1} << KDL_FEATURE_BIT_AARCH64_I8MM;
inline constexpr uint64_t kBf16 = uint64_t{1} << KDL_FEATURE_BIT_AARCH64_BF16;
inline constexpr uint64_t kAvx512Fp16 = uint64_t{1} << KDL_FEATURE_BIT_X86_AVX512FP16;
inline constexpr uint64_t kFp16 = uint64_t{1} << KDL_FEATURE_BIT_AARCH64_FP16;
inline constexpr uint64_t kSve256 = uint64_t{1} << KDL_FEATURE_BIT_AARCH64_SVE256;
}  // namespace features

inline constexpr std::string_view kX86 = "x86-64";
inline constexpr std::string_view kAarch64 = "aarch64";

/// The instructions of all processors. If several of them compute the same product, the best one comes first.
inline constexpr Instruction kInstructions[] = {
    {kX86, &kTileBf16, features::kAmxBf16, kBf16Step, {}, kBf16Tiles},
    {kX86, &kBf16Pairs, features::kAvx512Bf16, kBf16Step},
    {kX86, &kTileBytes, features::kAmx, kByteStep, {}, kByteTiles},
    {kX86, &kTileBytesU32, features::kAmx, kByteStep, {}, kByteTiles},
    {kX86, &kTileSigned, features::kAmx, kByteStep, {}, kSignedTiles, &kBytes},
    {kX86, &kTileSignedU32, features::kAmx, kByteStep, {}, kSignedTiles, &kBytes},
    {kX86, &kTileUnsigned, features::kAmx, kByteStep, {}, kUnsignedTiles, &kBytes},
    {kX86, &kTileUnsignedI32, features::kAmx, kByteStep, {}, kUnsignedTiles, &kBytes},
    {kX86, &kBytes, features::kAvx512Vnni, kByteStep},
    {kX86, &kBytes, features::kAvxVnni, kByteStep},
    {kX86, &kBytesU32, features::kAvx512Vnni, kByteStep},
    {kX86, &kBytesU32, features::kAvxVnni, kByteStep},
    {kX86, &kWords, features::kAvx512Vnni, "llvm.x86.avx512.vpdpwssd"},
    {kX86, &kWords, features::kAvxVnni, "llvm.x86.avx512.vpdpwssd"},
    {kX86, &kWordsU32, features::kAvx512Vnni, "llvm.x86.avx512.vpdpwssd"},
    {kX86, &kWordsU32, features::kAvxVnni, "llvm.x86.avx512.vpdpwssd"},
    {kX86, &kMadd, features::kAvx2, "", kMaddSums},
    {kX86, &kMaddU32, features::kAvx2, "", kMaddSums},
    {kAarch64, &kSignedBytes, features::kSve256, kSdot, {}, {}, nullptr, "llvm.aarch64.sve.sdot"},
    {kAarch64, &kUnsignedBytes, features::kSve256, kUdot, {}, {}, nullptr, "llvm.aarch64.sve.udot"},
    {kAarch64, &kMixedBytes, features::kSve256, kUsdot, {}, {}, nullptr, "llvm.aarch64.sve.usdot"},
    {kAarch64, &kBf16Dot, features::kSve256, kBfdot, {}, {}, nullptr, "llvm.aarch64.sve.bfdot"},
    {kAarch64, &kSignedMatrix, features::kI8mm, kSdot, {}, kSmmla, &kSignedBytes},
    {kAarch64, &kUnsignedMatrix, features::kI8mm, kUdot, {}, kUmmla, &kUnsignedBytes},
    {kAarch64, &kMixedMatrix, features::kI8mm, kUsdot, {}, kUsmmla, &kMixedBytes},
    {kAarch64, &kBf16Matrix, features::kBf16, kBfdot, {}, kBfmmla, &kBf16Dot},
    {kAarch64, &kSignedBytes, features::kDotprod, kSdot},
    {kAarch64, &kUnsignedBytes, features::kDotprod, kUdot},
    {kAarch64, &kMixedBytes, features::kI8mm, kUsdot},
    {kAarch64, &kBf16Dot, features::kBf16, kBfdot},
};

/// Whether a separate instruction adds the products to the accumulator.
constexpr bool AddsAlone(const ir::MatrixInstruction* instruction) {
  return std::ranges::any_of(kInstructions, [instruction](const Instruction& row) {
    return row.instruction == instruction && !row.sums[0].empty();
  });
}

/// The instructions that every processor has or emulates, because the language defines them.
inline constexpr const ir::MatrixInstruction* kDefined[] = {&kBf16Pairs};
/// All matrix instructions that some processor has.
inline constexpr const ir::MatrixInstruction* kMatrixInstructions[] = {
    &kBf16Pairs,    &kBytes,           &kBytesU32,     &kWords,         &kWordsU32,
    &kMadd,         &kMaddU32,         &kSignedBytes,  &kUnsignedBytes, &kMixedBytes,
    &kBf16Dot,      &kTileBytes,       &kTileBytesU32, &kTileSigned,    &kTileSignedU32,
    &kTileUnsigned, &kTileUnsignedI32, &kTileBf16,     &kSignedMatrix,  &kUnsignedMatrix,
    &kMixedMatrix,  &kBf16Matrix};
static_assert(std::ranges::all_of(kInstructions,
                                  [](const Instruction& row) {
                                    return std::ranges::find(kMatrixInstructions,
                                                             row.instruction) !=
                                           std::end(kMatrixInstructions);
                                  }),
              "an instruction of kInstructions is missing in kMatrixInstructions");
static_assert(std::ranges::none_of(kDefined,
                                   [](const ir::MatrixInstruction* instruction) {
                                     return instruction->order != ir::StepOrder::Forward &&
                                            instruction->order != ir::StepOrder::Backward;
                                   }),
              "its passes compute terms one by one");

}  // namespace kdl::cpu
