#pragma once

#include <string>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

// Sizes that launches and calls check, and sizes that programs make of numbers.

/// A launch, or call, is refused unless the sizes compare so, at the present place; `text` says it.
void Require(FunctionGen& gen, Size left, ir::CompareKind compare, Size right, Name text);
/// A launch, or call, is refused unless the sizes compare so.
void RequireSizes(FunctionGen& gen, Size left, ir::CompareKind compare, Size right,
                  const std::string& text);
/// Sets the insertion point after what the function asks of its sizes.
void InsertAtRequirements(FunctionGen& gen);
/// The `where` clauses: what launches and calls check.
void GenRequirements(FunctionGen& gen);
/// A size name that the function has not used yet.
Name FreshSizeName(FunctionGen& gen, Name wanted);
/// Makes a size of a number, where tensors have such a size.
void GenSizeName(FunctionGen& gen, const sema::Entity* number);

}  // namespace kdl::irgen
