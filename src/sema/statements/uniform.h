#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

// Tracks which values and conditions differ between cores, because all cores must reach each `sync` and `spmd
// for`.

/// Returns whether the value of an expression depends on the core.
bool DependsOnCore(FunctionState& state, const syntax::Expr* expr);

/// Returns whether cores may see different values of an expression: DependsOnCore is true, or the
/// expression loads something that other cores may write.
bool MayVary(FunctionState& state, const syntax::Expr* expr);

/// Records that a variable depends on `value` and on the enclosing conditions.
void RecordInfluence(FunctionState& state, const Entity* variable, const syntax::Expr* value);

/// Reports an `spmd for` or `sync` that some cores may not reach.
void ReportDivergent(FunctionState& state, Span head, bool is_sync);

/// Reports a place that some cores may not reach. If this depends on variables whose dependences are not
/// yet known, the report may be made later. Returns false if the place was reported immediately.
bool CheckUniformPlace(FunctionState& state, Span span, bool is_sync);

/// Called at the end of a body, when the dependences of all variables are known. Reports places that some
/// cores may not reach.
void CheckUniform(FunctionState& state);

}  // namespace kdl::sema
