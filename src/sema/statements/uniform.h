#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

// Tracks what differs from core to core, because every core must reach a `sync` or `spmd for`.

/// Whether the value of an expression depends on the core.
bool DependsOnCore(FunctionState& state, const syntax::Expr* expr);

/// Whether cores may see different values: DependsOnCore, or a load of something that other cores
/// may write.
bool MayVary(FunctionState& state, const syntax::Expr* expr);

/// Records that a variable depends on `value` and on the enclosing conditions.
void RecordInfluence(FunctionState& state, const Entity* variable, const syntax::Expr* value);

/// Reports a `spmd for` or `sync` that some cores may not reach.
void ReportDivergent(FunctionState& state, Span head, bool is_sync);

/// Reports a place that some cores may not reach: immediately, or later if it depends on variables
/// that are not yet known. Returns false if it was reported immediately.
bool CheckUniformPlace(FunctionState& state, Span span, bool is_sync);

/// Called at the end of a body, when all dependences of variables are known. Reports places that
/// some cores may not reach.
void CheckUniform(FunctionState& state);

}  // namespace kdl::sema
