#pragma once

#include <optional>
#include <vector>

#include "ir/module.h"
#include "ir/views.h"
#include "passes/names.h"

namespace kdl::passes {

/// Returns whether an op reduces values of the blocks of a group into a tensor.
bool IsGroupUpdate(const ir::Op* op);

/// Returns the updates in an spmd that reduce over groups, as one list for each tensor. All updates of one
/// tensor use the same operator.
std::vector<std::vector<ir::UpdateOp>> GroupUpdatesOf(const Op* spmd);

/// Returns the loop variable of the spmd that is the whole index of this dimension in each of the updates, which
/// must be all updates of one tensor.
std::optional<size_t> VariableOfDimension(const Op* spmd, const std::vector<ir::UpdateOp>& updates,
                                          size_t dim);

/// Returns whether the result of a reduction does not depend on the order: integers, minima and maxima.
bool IsExact(ir::UpdateOp update);

/// Returns whether these updates, which must be all of one tensor, have each of the loop variables as the index of a
/// dimension.
bool KeepsAll(const Op* spmd, const std::vector<ir::UpdateOp>& updates,
              const std::vector<size_t>& variables);

/// Sets AttrKey::Kept for each spmd of the kernel that is distributed in groups. Exact reductions only count if there are
/// no others. Spmds over the same domain keep the same variables, since they run the same blocks on the same cores.
void MarkKeptVariables(ir::Function& kernel, SizeTable& sizes);

}  // namespace kdl::passes
