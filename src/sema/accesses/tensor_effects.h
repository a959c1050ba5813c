#pragma once

#include <string_view>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

// Tracks in source order how a program reads and writes tensors.

/// Returns whether the elements of the tensor are undefined at first. This is true of a program's own tensors
/// and of `out` parameters.
bool StartsUndefined(const FunctionState& state, const Entity& tensor);

/// Records a read of a tensor. Reports the read if the elements are certainly undefined. `reader` is the
/// name of the kernel or program that reads; it is empty if the host reads.
void NoteRead(FunctionState& state, const Entity* tensor, Span span, std::string_view reader = "");

/// Records that `writer` writes a tensor through its parameter `param`. Reports an error if the tensor is an
/// `in` parameter of the current function.
void NoteWritten(FunctionState& state, const Entity* tensor, Span span, std::string_view writer,
                 std::string_view param);

/// Must be called at the end of a loop. Reports reads of tensors that were not written before the read and
/// are not written in the rest of the loop either.
void SettleReads(FunctionState& state);

/// Checks the effects of a launch or call. The callee may write only writable tensors that do not overlap
/// other arguments, and may read only tensors that have been written. `tensors` contains, for each parameter,
/// the named tensor, or null if the parameter is a scalar.
void CheckEffects(FunctionState& state, const syntax::CallExpr& call, const CheckedFunction& callee,
                  const std::vector<const Entity*>& tensors);

/// Assumes that a launch or call with an error writes its arguments, so that later reads of them are not reported, too.
void AssumeWritten(FunctionState& state, const syntax::CallExpr& call);

}  // namespace kdl::sema
