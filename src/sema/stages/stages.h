#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

void CheckStage(FunctionState& state, const syntax::StageStmt& stmt);

/// Of a kernel's body: what may stand next to its stages.
void CheckBesideStages(FunctionState& state, const syntax::BlockStmt& body);

/// Notes an access of a tensor; reports one that another stage writes, or that is written and which
/// another stage touches.
void RecordTensorUse(FunctionState& state, const Entity* tensor, Span span, bool writes);

/// Whether a stage or pipe stands at the top of a kernel's body; reports other places.
bool StandsAtTop(FunctionState& state, std::string_view what, Span head);

}  // namespace kdl::sema
