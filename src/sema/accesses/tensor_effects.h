#pragma once

#include <string_view>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

// What a program reads and writes of tensors, in the order of the source.

/// Whether a program's tensor has undefined elements at first: what it allocates, and its `out` parameters.
bool StartsUndefined(const FunctionState& state, const Entity& tensor);

/// A tensor is read: an error where its elements are undefined, for certain. `reader`: the kernel or program that reads it;
/// empty: the host.
void NoteRead(FunctionState& state, const Entity* tensor, Span span, std::string_view reader = "");

/// A tensor is written, as `param` of `writer`: an error where it is an `in` parameter.
void NoteWritten(FunctionState& state, const Entity* tensor, Span span, std::string_view writer,
                 std::string_view param);

/// At the end of a loop: what was read in it before anything wrote it, and is not written in it either.
void SettleReads(FunctionState& state);

/// What a launch or call writes may be written and is no other argument; what it reads has been written. `tensors`: by
/// parameter, those that the arguments name; null for scalars.
void CheckEffects(FunctionState& state, const syntax::CallExpr& call, const CheckedFunction& callee,
                  const std::vector<const Entity*>& tensors);

}  // namespace kdl::sema
