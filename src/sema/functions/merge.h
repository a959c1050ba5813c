#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Merges the reports for a function's instances, so that each mistake is reported once. If the mistake
/// occurs only in some instances, the report lists their types.
void MergeInstances(const FunctionGroup& group, DiagnosticEngine& into);

/// Copies a report to `into`.
Diagnostic& CopyReport(const Diagnostic& from, DiagnosticEngine& into);

/// Copies all reports of `from` to `into`, in source order.
void MergeSorted(const DiagnosticEngine& from, DiagnosticEngine& into);

}  // namespace kdl::sema
