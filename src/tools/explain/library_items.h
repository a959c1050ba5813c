#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kdl::tools {

/// An exported kernel or function of the standard library, or one of its files.
struct LibraryItem {
  std::string name;  ///< such as `std.nn.softmax`, or `std.nn` for a file
  std::string
      comment;  ///< the doc comment, or the comment at the beginning of the file, as one line
  std::string_view text;  ///< the source from its first word on
};

std::vector<LibraryItem> LibraryKernels();

/// Returns the functions that need an import. Others, such as `exp`, are builtins for users.
std::vector<LibraryItem> LibraryFunctions();

/// Returns the files that `import std.NAME;` imports.
std::vector<LibraryItem> LibraryModules();

/// Returns the kernels and functions of a file such as `std.nn`; none if there is no such file.
std::vector<LibraryItem> LibraryItemsOf(std::string_view module);

/// Returns the declaration of a kernel or function of the library, as in the source up to its body.
/// Returns an empty string if the library has none of this name.
std::string LibraryDeclaration(std::string_view name);

}  // namespace kdl::tools
