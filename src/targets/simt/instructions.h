#pragma once

#include "ir/matrix_instruction.h"
#include "ir/op_kind.h"

namespace kdl::simt {

/// NVIDIA does not document the order in which its GPUs add. In this model of the instruction, each product
/// is rounded, and then adjacent products are added in pairs. Factors and sums may be subnormal.
inline constexpr ir::MatrixInstruction kMmaBf16{.name = "simt.mma_bf16",
                                                .a = kdl::Scalar::BF16,
                                                .b = kdl::Scalar::BF16,
                                                .acc = kdl::Scalar::F32,
                                                .depth = 16,
                                                .order = ir::StepOrder::Pairs,
                                                .flushes = false,
                                                .term = ir::OpKind::Mul,
                                                .modelled = true};
inline constexpr ir::MatrixInstruction kMmaF16{.name = "simt.mma_f16",
                                               .a = kdl::Scalar::F16,
                                               .b = kdl::Scalar::F16,
                                               .acc = kdl::Scalar::F32,
                                               .depth = 16,
                                               .order = ir::StepOrder::Pairs,
                                               .flushes = false,
                                               .term = ir::OpKind::Mul,
                                               .modelled = true};

/// Returns the asynchronous variant of an instruction (`wgmma`), which a group of warps executes and which
/// reads its factors from workgroup memory.
constexpr ir::MatrixInstruction GoesOn(ir::MatrixInstruction instruction, std::string_view name) {
  instruction.name = name;
  instruction.goes_on = true;
  return instruction;
}
inline constexpr ir::MatrixInstruction kGroupBf16 = GoesOn(kMmaBf16, "simt.wgmma_bf16");
inline constexpr ir::MatrixInstruction kGroupF16 = GoesOn(kMmaF16, "simt.wgmma_f16");

/// The factors are f32 values that tf32 can represent, so their products are exact in f32.
inline constexpr ir::MatrixInstruction kMmaTf32{.name = "simt.mma_tf32",
                                                .a = kdl::Scalar::F32,
                                                .b = kdl::Scalar::F32,
                                                .acc = kdl::Scalar::F32,
                                                .depth = 8,
                                                .order = ir::StepOrder::Pairs,
                                                .flushes = false,
                                                .term = ir::OpKind::Mul,
                                                .modelled = true,
                                                .of_tf32 = true};
inline constexpr ir::MatrixInstruction kGroupTf32 = GoesOn(kMmaTf32, "simt.wgmma_tf32");

/// An instruction for byte integers. It multiplies exactly, and its 32-bit sums wrap around.
constexpr ir::MatrixInstruction ByteMatrixInstruction(std::string_view name, kdl::Scalar a,
                                                      kdl::Scalar b, kdl::Scalar acc) {
  return {.name = name,
          .a = a,
          .b = b,
          .acc = acc,
          .depth = 32,
          .order = ir::StepOrder::Any,
          .flushes = false,
          .term = ir::OpKind::Mul};
}
inline constexpr ir::MatrixInstruction kMmaI8 =
    ByteMatrixInstruction("simt.mma_i8", kdl::Scalar::I8, kdl::Scalar::I8, kdl::Scalar::I32);
inline constexpr ir::MatrixInstruction kMmaU8 =
    ByteMatrixInstruction("simt.mma_u8", kdl::Scalar::U8, kdl::Scalar::U8, kdl::Scalar::U32);
inline constexpr ir::MatrixInstruction kGroupI8 = GoesOn(kMmaI8, "simt.wgmma_i8");
inline constexpr ir::MatrixInstruction kGroupU8 = GoesOn(kMmaU8, "simt.wgmma_u8");
inline constexpr ir::MatrixInstruction kGroupI8U8 =
    GoesOn(ByteMatrixInstruction("", kdl::Scalar::I8, kdl::Scalar::U8, kdl::Scalar::I32),
           "simt.wgmma_i8_u8");
inline constexpr ir::MatrixInstruction kGroupU8I8 =
    GoesOn(ByteMatrixInstruction("", kdl::Scalar::U8, kdl::Scalar::I8, kdl::Scalar::I32),
           "simt.wgmma_u8_i8");

/// An instruction for 8-bit floats, whose products are exact in f32. The model is the same as for the other
/// floats. Real GPUs are said to align the terms of a step, and the f32 sum so far, to the largest exponent.
/// They are said to truncate the aligned values after about 14 bits. To limit this loss, the instruction sums
/// only 128 terms at a time, and threads add up these sums.
constexpr ir::MatrixInstruction ByteFloatMatrixInstruction(std::string_view name, kdl::Scalar a,
                                                           kdl::Scalar b) {
  return {.name = name,
          .a = a,
          .b = b,
          .acc = kdl::Scalar::F32,
          .depth = 32,
          .order = ir::StepOrder::Pairs,
          .flushes = false,
          .term = ir::OpKind::Mul,
          .modelled = true,
          .goes_on = true,
          .apart = 128};
}
inline constexpr ir::MatrixInstruction kGroupE4 =
    ByteFloatMatrixInstruction("simt.wgmma_f8e4m3", kdl::Scalar::F8E4M3, kdl::Scalar::F8E4M3);
inline constexpr ir::MatrixInstruction kGroupE5 =
    ByteFloatMatrixInstruction("simt.wgmma_f8e5m2", kdl::Scalar::F8E5M2, kdl::Scalar::F8E5M2);
inline constexpr ir::MatrixInstruction kGroupE4E5 = ByteFloatMatrixInstruction(
    "simt.wgmma_f8e4m3_f8e5m2", kdl::Scalar::F8E4M3, kdl::Scalar::F8E5M2);
inline constexpr ir::MatrixInstruction kGroupE5E4 = ByteFloatMatrixInstruction(
    "simt.wgmma_f8e5m2_f8e4m3", kdl::Scalar::F8E5M2, kdl::Scalar::F8E4M3);

inline constexpr const ir::MatrixInstruction* kMatrixInstructions[] = {
    &kMmaBf16,   &kMmaF16,    &kMmaI8,     &kMmaU8,     &kGroupBf16, &kGroupF16,
    &kGroupI8,   &kGroupU8,   &kGroupI8U8, &kGroupU8I8, &kGroupE4,   &kGroupE5,
    &kGroupE4E5, &kGroupE5E4, &kMmaTf32,   &kGroupTf32};

}  // namespace kdl::simt
