#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

// What differs from core to core. A `sync` or `spmd for` stands where all cores come by.

/// Whether what an expression is differs from core to core.
bool DependsOnCore(FunctionState& state, const syntax::Expr* expr);

/// Whether cores may find different values: DependsOnCore, or a load from what other cores may write.
bool MayVary(FunctionState& state, const syntax::Expr* expr);

/// Notes that the value of a variable comes from `value`, and from the conditions around.
void RecordInfluence(FunctionState& state, const Entity* variable, const syntax::Expr* value);

/// Reports a `spmd for` or `sync` that not all cores may come to.
void ReportDivergent(FunctionState& state, Span head, bool is_sync);

/// Reports a place that not all cores may come to: at once, or when the variables of the conditions around are known. False:
/// it has been.
bool CheckUniformPlace(FunctionState& state, Span span, bool is_sync);

/// At the end of a body, where all is known that variables come from: reports the places that not all cores may come to.
void CheckUniform(FunctionState& state);

}  // namespace kdl::sema
