#pragma once

#include "ir/unit.h"

namespace kdl::simt {

/// What NVIDIA's machines add in which order, nobody says. The model: products, then sums of neighbours; factors and sums may be
/// subnormal.
inline constexpr ir::Unit kMmaBf16{.name = "simt.mma_bf16",
                                   .a = kdl::Scalar::BF16,
                                   .b = kdl::Scalar::BF16,
                                   .acc = kdl::Scalar::F32,
                                   .depth = 16,
                                   .order = ir::StepOrder::Pairs,
                                   .flushes = false,
                                   .term = ir::OpKind::Mul,
                                   .modelled = true};
inline constexpr ir::Unit kMmaF16{.name = "simt.mma_f16",
                                  .a = kdl::Scalar::F16,
                                  .b = kdl::Scalar::F16,
                                  .acc = kdl::Scalar::F32,
                                  .depth = 16,
                                  .order = ir::StepOrder::Pairs,
                                  .flushes = false,
                                  .term = ir::OpKind::Mul,
                                  .modelled = true};

inline constexpr const ir::Unit* kUnits[] = {&kMmaBf16, &kMmaF16};

}  // namespace kdl::simt
