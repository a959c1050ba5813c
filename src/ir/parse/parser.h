#pragma once

#include <cstddef>
#include <memory>

#include "ir/module.h"
#include "ir/parse/untrusted.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::ir {

// Limits that are checked before the text is read, because later code is recursive over regions and sizes,
// and could otherwise run out of stack.
inline constexpr size_t kMaxTextBytes = size_t{64} << 20;
inline constexpr size_t kMaxTextNesting = 256;

/// Reads the text form (printer.h) of a module and verifies it. Ops without `loc` have no location. Returns
/// null after reporting errors. Reports syntax errors first, at most one for each function. If there are
/// none, reports each op that breaks a rule or requires more trust than `trust` grants.
std::unique_ptr<Module> Parse(const SourceManager& sources, FileId file, Context& context,
                              DiagnosticEngine& diagnostics, Trust trust = Trust::Everything);

}  // namespace kdl::ir
