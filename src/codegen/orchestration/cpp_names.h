#pragma once

#include <set>
#include <string>
#include <string_view>

namespace kdl::codegen {

/// Names of one scope of generated C or C++.
///
/// A user's name keeps its spelling if it can be neither a macro nor a word of C, C++ or this code: it begins with a small
/// letter, or is a capital letter that only digits follow, or begins with a capital and then a small letter; it has no `_`
/// at either end and no two in a row; it does not begin with `kdl_`; and it is no word of the languages. Any other name
/// loses those `_` and gets one at its end: `N`, `head_dim`, `Linear`, but `HEAD_DIM_`, `delete_`, `M_PI_`, `Bool_` of
/// `_Bool`. Names of this code that users' names could hide begin with `kdl_` and do not end in `_`.
class CppNames {
 public:
  /// The name for `wanted`, with a number where it is taken. What it returns is picked again as it is.
  std::string Pick(std::string_view wanted);
  /// Like `Pick`, for the global scope: a name that the C library may declare there gets the `_`, too.
  std::string PickGlobal(std::string_view wanted);

 private:
  std::string PickFree(std::string_view wanted, bool is_global);

  std::set<std::string, std::less<>> taken_;
};

/// Whether the headers of the C library may declare the name.
bool IsOfCLibrary(std::string_view name);

}  // namespace kdl::codegen
