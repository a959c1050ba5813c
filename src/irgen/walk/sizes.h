#pragma once

#include <string>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

// Sizes that launches and calls check, and sizes that programs make from numbers.

/// Refuses a launch or call unless the comparison of the two sizes is true. The check is created at the
/// insertion point, with `text` as its message.
void Require(FunctionGen& gen, Size left, ir::CompareKind compare, Size right, Name text);
/// Like Require, but in a kernel the check is created after the kernel's other requirements.
void RequireSizes(FunctionGen& gen, Size left, ir::CompareKind compare, Size right,
                  const std::string& text);
/// Moves the insertion point to the place after the requirements of the function.
void InsertAtRequirements(FunctionGen& gen);
/// Generates the checks of the `where` clauses, which launches and calls perform.
void GenRequirements(FunctionGen& gen);
/// Returns a size name that the function does not use yet.
Name FreshSizeName(FunctionGen& gen, Name wanted);
/// Makes a size from a number, if some tensor has that size.
void GenSizeName(FunctionGen& gen, const sema::Entity* number);

}  // namespace kdl::irgen
