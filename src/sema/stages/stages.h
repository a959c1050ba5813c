#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

void CheckStage(FunctionState& state, const syntax::StageStmt& stmt);

/// Checks that the body of a kernel with stages contains nothing else that is not allowed outside of
/// its stages.
void CheckOutsideStages(FunctionState& state, const syntax::BlockStmt& body);

/// Records an access to a tensor. Reports a conflict between two stages, one of which writes the tensor
/// that the other one accesses.
void RecordTensorUse(FunctionState& state, const Entity* tensor, Span span, bool writes);

/// Returns whether a stage or pipe is declared at the top level of a kernel's body. Reports an error if it
/// is not.
bool IsAtTop(FunctionState& state, std::string_view what, Span head);

}  // namespace kdl::sema
