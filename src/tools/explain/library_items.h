#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kdl::tools {

/// An exported kernel or function of the standard library.
struct LibraryItem {
  std::string name;       ///< such as `std.nn.softmax`
  std::string comment;    ///< the doc comment as one line
  std::string_view text;  ///< the source from its first word on
};

std::vector<LibraryItem> LibraryKernels();

/// Returns the functions that need an import. Others, such as `exp`, are builtins for users.
std::vector<LibraryItem> LibraryFunctions();

/// Returns the declaration of a kernel or function of the library, as in the source up to its body.
/// Returns an empty string if the library has none of this name.
std::string LibraryDeclaration(std::string_view name);

}  // namespace kdl::tools
