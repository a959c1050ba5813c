#pragma once

#include <cstddef>

namespace kdl::syntax {

// Limits that are checked before parsing, because the parser and the later phases are recursive.
inline constexpr size_t kMaxBytes = size_t{16} << 20;
inline constexpr size_t kMaxTokens = 2'000'000;
/// The maximum nesting of brackets and of `if … then … else`.
inline constexpr size_t kMaxNesting = 256;
/// The maximum depth of nested statements, and of the tree of one expression. The tree of a sum of n terms
/// has depth n.
inline constexpr size_t kMaxDepth = 1000;

}  // namespace kdl::syntax
