#pragma once

#include <vector>

#include "ir/op_kind.h"
#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// The contraction in the loop's body that alone touches the home in the loop: it goes on from what stands there. Null: there
/// is none.
ir::Op* AccumulatorOf(const ir::Op* loop, const ir::Value* home);

/// The homes that the loop has such contractions for, in their order.
std::vector<const ir::Value*> AccumulatedIn(const ir::Op* loop);

/// Whether the op, or one inside of it, reads the value; of a home also whether it changes that.
bool Touches(const ir::Op* op, const ir::Value* value);

/// Whether the op makes a home or says what stands in one, and computes nothing.
inline bool IsPlacing(const ir::Op* op) {
  return op->kind() == ir::OpKind::Home || op->kind() == ir::OpKind::Get ||
         op->kind() == ir::OpKind::Put || op->kind() == ir::OpKind::Move;
}

}  // namespace kdl::cpu
