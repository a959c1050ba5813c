#pragma once

#include <string_view>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

// Tracks in source order how a program reads and writes tensors.

/// Returns whether the elements of the tensor are undefined at first. This is so for a program's own tensor
/// and for an `out` parameter.
bool StartsUndefined(const FunctionState& state, const Entity& tensor);

/// Records a read of a tensor. Reports the read if the elements are certainly undefined. `reader` is the
/// name of the kernel or program that reads; it is empty if the host reads.
void NoteRead(FunctionState& state, const Entity* tensor, Span span, std::string_view reader = "");

/// Records that `writer` writes a tensor through its parameter `param`. Reports this if the tensor
/// is an `in` parameter.
void NoteWritten(FunctionState& state, const Entity* tensor, Span span, std::string_view writer,
                 std::string_view param);

/// Must be called at the end of a loop. Reports reads of tensors that had not been written before the read,
/// if the rest of the loop does not write them either.
void SettleReads(FunctionState& state);

/// Checks the effects of a launch or call. It may write only tensors that are writable and do not overlap
/// other arguments, and it may read only tensors that have been written. `tensors` contains, for each
/// parameter, the named tensor, or null if the parameter is a scalar.
void CheckEffects(FunctionState& state, const syntax::CallExpr& call, const CheckedFunction& callee,
                  const std::vector<const Entity*>& tensors);

}  // namespace kdl::sema
