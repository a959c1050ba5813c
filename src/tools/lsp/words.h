#pragma once

#include <cctype>

namespace kdl::tools::lsp {

/// Whether a character can be part of a name.
inline bool IsWordPart(char c) {
  return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
}

}  // namespace kdl::tools::lsp
