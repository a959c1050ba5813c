#pragma once

#include <cstddef>

namespace kdl::syntax {

// Limits that are checked before parsing, because the parser and the phases after it are recursive.
inline constexpr size_t kMaxBytes = size_t{16} << 20;
inline constexpr size_t kMaxTokens = 2'000'000;
inline constexpr size_t kMaxNesting = 256;  ///< nesting of brackets and of `if … then … else`
/// Depth of statements and of the tree of one expression. A sum of n terms is n deep.
inline constexpr size_t kMaxDepth = 1000;

}  // namespace kdl::syntax
