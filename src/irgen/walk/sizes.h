#pragma once

#include <string>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

// Sizes that launches and calls check, and sizes that programs make from numbers.

/// Refuses a launch or call unless the comparison of the sizes is true. The check is inserted at the
/// insertion point; `text` is its message.
void Require(FunctionGen& gen, Size left, ir::CompareKind compare, Size right, Name text);
/// The same, but in a kernel the check is inserted after its other requirements.
void RequireSizes(FunctionGen& gen, Size left, ir::CompareKind compare, Size right,
                  const std::string& text);
/// Moves the insertion point after the requirements of the function.
void InsertAtRequirements(FunctionGen& gen);
/// Generates the `where` clauses, which launches and calls check.
void GenRequirements(FunctionGen& gen);
/// Returns a size name that the function does not use yet.
Name FreshSizeName(FunctionGen& gen, Name wanted);
/// Makes a size from a number if a tensor has that size.
void GenSizeName(FunctionGen& gen, const sema::Entity* number);

}  // namespace kdl::irgen
