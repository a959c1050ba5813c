#pragma once

#include <string>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

// Generates checks of sizes for launches and calls, and sizes that programs compute from numbers.

/// Generates a check that rejects a launch or call unless the comparison of the two sizes is true. The check
/// is created at the insertion point, and `text` is its message.
void Require(FunctionGen& gen, Size left, ir::CompareKind compare, Size right, Name text);
/// Like Require, but in a kernel, the check is placed after the kernel's other requirements.
void RequireSizes(FunctionGen& gen, Size left, ir::CompareKind compare, Size right,
                  const std::string& text);
/// Moves the insertion point after the requirements of the function.
void InsertAtRequirements(FunctionGen& gen);
/// Generates the checks of the `where` clauses, which are performed at launches and calls.
void GenRequirements(FunctionGen& gen);
/// Returns a size name that the function does not use yet.
Name FreshSizeName(FunctionGen& gen, Name wanted);
/// Creates a symbolic size for a number that the program computes, if a tensor uses this number as a size.
void GenSizeName(FunctionGen& gen, const sema::Entity* number);

}  // namespace kdl::irgen
