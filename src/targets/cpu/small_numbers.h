#pragma once

#include "ir/builder.h"

namespace kdl::cpu {

// Where all factors and sums of an f32 chain are far above the least normal number, or 0, no sum of it is subnormal:
// factors of 8 digits from 2^-56 on have products that are multiples of 2^-126, the least normal number, and f32 from 2^-103
// on are such multiples, too; so is every sum, rounded or not. A unit that flushes has nothing to flush then.
inline constexpr float kLeastFactor = 0x1p-56F;
inline constexpr float kLeastSum = 0x1p-103F;

/// An f32 constant.
ir::Value* Constant(ir::Builder& b, float value);

/// Whether an f32, or each lane of a vector, is not 0 and smaller than the limit.
ir::Value* IsSmall(ir::Builder& b, ir::Value* value, float limit);

/// 1 where it is small, else `found`.
ir::Value* NoteSmall(ir::Builder& b, ir::Value* found, ir::Value* is_small);

}  // namespace kdl::cpu
