#pragma once

#include <string_view>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

// The reads and writes of tensors by a program, in source order.

/// Whether the elements of the tensor start undefined: a program's own tensor or an `out`
/// parameter.
bool StartsUndefined(const FunctionState& state, const Entity& tensor);

/// Records a read of a tensor. Reports it if the elements are certainly undefined. `reader` is the
/// kernel or program that reads; it is empty for the host.
void NoteRead(FunctionState& state, const Entity* tensor, Span span, std::string_view reader = "");

/// Records that `writer` writes a tensor through its parameter `param`. Reports this if the tensor
/// is an `in` parameter.
void NoteWritten(FunctionState& state, const Entity* tensor, Span span, std::string_view writer,
                 std::string_view param);

/// Called at the end of a loop. Reports reads of tensors that were not written before them and that
/// the rest of the loop does not write either.
void SettleReads(FunctionState& state);

/// Checks the effects of a launch or call. It may write only tensors that can be written and do not
/// overlap other arguments, and may read only written ones. `tensors` has the named tensor of each
/// parameter, or null for a scalar.
void CheckEffects(FunctionState& state, const syntax::CallExpr& call, const CheckedFunction& callee,
                  const std::vector<const Entity*>& tensors);

}  // namespace kdl::sema
