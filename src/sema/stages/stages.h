#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

void CheckStage(FunctionState& state, const syntax::StageStmt& stmt);

/// Checks that a kernel's body contains nothing next to its stages that is not allowed there.
void CheckOutsideStages(FunctionState& state, const syntax::BlockStmt& body);

/// Records an access to a tensor. Reports a conflict between stages: one of them writes the tensor
/// and another one accesses it.
void RecordTensorUse(FunctionState& state, const Entity* tensor, Span span, bool writes);

/// Whether a stage or pipe is at the top level of a kernel's body. Reports other places.
bool IsAtTop(FunctionState& state, std::string_view what, Span head);

}  // namespace kdl::sema
