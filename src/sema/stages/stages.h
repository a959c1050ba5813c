#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

void CheckStage(FunctionState& state, const syntax::StageStmt& stmt);

/// Reports statements of a kernel with stages that are outside of the stages, but are allowed only inside of
/// them.
void CheckOutsideStages(FunctionState& state, const syntax::BlockStmt& body);

/// Records an access to a tensor. Reports a conflict if one stage writes a tensor that another stage
/// accesses.
void RecordTensorUse(FunctionState& state, const Entity* tensor, Span span, bool writes);

/// Returns whether a stage or pipe is declared at the top level of a kernel's body. Reports an error if it
/// is not.
bool IsAtTop(FunctionState& state, std::string_view what, Span head);

}  // namespace kdl::sema
