#pragma once

#include <span>

#include "targets/cpu/expand/expander.h"

// Adds performance remarks about reductions, if they are wanted.

namespace kdl::cpu {

/// Whether remarks are wanted, and the op has none yet. The body of a `split` is expanded several times.
bool IsNewForRemarks(Expander& e, const ir::Op* op);

/// Adds a remark if the terms of a reduction, or the factors of its terms, are stored only to be reduced.
void NoteFold(Expander& e, const ir::Op* fold, std::span<ir::Value* const> terms);

/// Adds a remark if the reductions in a loop have more accumulators than there are registers.
void NoteAccumulators(Expander& e, const ir::Op* fold, size_t vectors);

/// Adds a remark if a scan, or a reduction with a region, runs element by element.
void NoteCombine(Expander& e, const ir::Op* op, int64_t lanes);

}  // namespace kdl::cpu
