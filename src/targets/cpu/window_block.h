#pragma once

#include <cstdint>
#include <vector>

#include "ir/builder.h"

namespace kdl::cpu {

/// A term of the index into a window: a block and its constant coefficient, which is not 0.
struct WindowTerm {
  ir::Value* block;
  int64_t coefficient;
  bool operator==(const WindowTerm&) const = default;
};
using WindowTerms = std::vector<WindowTerm>;

/// The largest absolute value of a coefficient. With larger ones, the number of the window's elements might not fit in
/// 64 bits.
inline constexpr int64_t kMostCoefficient = int64_t{1} << 20;

/// Returns the largest number of elements between the least and the greatest sum of the terms, both included. An axis
/// without a constant extent counts as empty.
int64_t WindowExtent(const ir::Function& kernel, const WindowTerms& terms);

/// Makes the block of the window along `axis`, from the least sum of `offset` and the terms to the greatest. The window
/// is empty if one of the terms' blocks is empty.
ir::Value* MakeWindow(ir::Builder& b, const WindowTerms& terms, ir::Value* offset, ir::AxisId axis);

}  // namespace kdl::cpu
