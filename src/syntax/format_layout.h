#pragma once

#include <string>

#include "syntax/format_pieces.h"

namespace kdl::syntax {

/// The number of columns that code may use. The library and the samples are written to it.
inline constexpr size_t kLineWidth = 120;

/// Returns the text in which the pieces are arranged in the style that `samples/guide/editors.md` describes.
std::string Layout(Pieces pieces);

}  // namespace kdl::syntax
