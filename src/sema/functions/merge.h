#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// The reports of a function's instances, each mistake once; what not all kinds have says which do.
void MergeInstances(const FunctionGroup& group, DiagnosticEngine& into);

/// Copies all of `from`, in the order of the text.
void MergeSorted(const DiagnosticEngine& from, DiagnosticEngine& into);

}  // namespace kdl::sema
