#pragma once

#include "ir/matrix_instruction.h"
#include "ir/op_kind.h"

namespace kdl::targets {

/// The bf16 `dot` that the language defines. It adds pairs of adjacent terms along the reduced axis, the odd
/// term first, and flushes subnormals. Machines that follow this definition emulate the instruction if they
/// do not have it.
inline constexpr ir::MatrixInstruction kBf16Pairs{.name = "cpu.bf16_pairs",
                                                  .a = kdl::Scalar::BF16,
                                                  .b = kdl::Scalar::BF16,
                                                  .acc = kdl::Scalar::F32,
                                                  .depth = 2,
                                                  .order = ir::StepOrder::Backward,
                                                  .flushes = true,
                                                  .term = ir::OpKind::FmaFlush};

}  // namespace kdl::targets
