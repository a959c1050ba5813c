#pragma once

#include <set>
#include <string>
#include <string_view>

namespace kdl::codegen {

/// The names in one scope of generated C or C++.
///
/// A user's name keeps its spelling if it cannot be a macro, a keyword of C or C++, or a name that generated
/// code uses itself. It must begin with a small letter, or with a capital and then a small letter, or be a
/// capital followed only by digits. It must not have `_` at either end or two in a row, nor begin with
/// `kdl_`, nor be a keyword. Any other name loses those `_` and gets one at its end: `N`, `head_dim` and
/// `Linear` stay, but `HEAD_DIM` becomes `HEAD_DIM_`, and `_Bool` becomes `Bool_`. Names that generated code
/// uses itself, and that a user's name could hide, begin with `kdl_` and do not end in `_`.
class CppNames {
 public:
  /// Returns the name for `wanted`, with a number added if that name is taken. Picking a returned name gives
  /// the same name.
  std::string Pick(std::string_view wanted);
  /// Like `Pick`, for the global scope: names that the C library may declare there get the `_` too.
  std::string PickGlobal(std::string_view wanted);

 private:
  std::string PickFree(std::string_view wanted, bool is_global);

  std::set<std::string, std::less<>> taken_;
};

/// Returns whether the headers of the C library may declare the name.
bool IsOfCLibrary(std::string_view name);

}  // namespace kdl::codegen
