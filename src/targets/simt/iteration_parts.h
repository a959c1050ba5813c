#pragma once

#include <cstddef>
#include <vector>

#include "ir/op.h"

namespace kdl::simt {

/// A dimension in which an access stays in the part of the current iteration of a loop: if the loop has the step n and the
/// variable %i, its indices are from %i to %i + n - 1. So different iterations access different elements.
struct IterationPart {
  const ir::Op* loop;
  size_t dim;
};

/// Returns all such dimensions of an access to a tensor or buffer; none if the op accesses it in another way.
std::vector<IterationPart> IterationPartsOf(const ir::Op* access, const ir::Value* memory);

}  // namespace kdl::simt
