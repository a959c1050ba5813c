#pragma once

#include "ir/matrix_instruction.h"
#include "ir/op_kind.h"

namespace kdl::targets {

/// What `dot` of bf16 is on every machine that takes its units from the language's definition, with an instruction for it or
/// without: neighbours along the folded axis, the odd one first, what is subnormal flushed.
inline constexpr ir::MatrixInstruction kBf16Pairs{.name = "cpu.bf16_pairs",
                                                  .a = kdl::Scalar::BF16,
                                                  .b = kdl::Scalar::BF16,
                                                  .acc = kdl::Scalar::F32,
                                                  .depth = 2,
                                                  .order = ir::StepOrder::Backward,
                                                  .flushes = true,
                                                  .term = ir::OpKind::FmaFlush};

}  // namespace kdl::targets
