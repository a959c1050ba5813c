#pragma once

#include <cstddef>

namespace kdl::syntax {

// What is refused before parsing; the parser and the phases after it recurse.
inline constexpr size_t kMaxBytes = size_t{16} << 20;
inline constexpr size_t kMaxTokens = 2'000'000;
inline constexpr size_t kMaxNesting = 256;  ///< of brackets and of `if … then … else`
/// Of the tree of one expression, where a sum of n terms is n deep, and of statements.
inline constexpr size_t kMaxDepth = 1000;

}  // namespace kdl::syntax
