#pragma once

#include <set>
#include <string>
#include <string_view>

namespace kdl::codegen {

/// Chooses the names in one scope of generated C or C++.
///
/// A user's name keeps its spelling if it cannot be a macro, a keyword of C or C++, or a name that generated
/// code uses itself. Such a name begins with a small letter, or with a capital and then a small letter, or is
/// a capital followed only by digits. It has no `_` at either end and no two in a row, and it does not begin
/// with `kdl_`. Any other name loses those `_` and gets one at its end: `N`, `head_dim` and `Linear` stay,
/// but `HEAD_DIM` becomes `HEAD_DIM_`, and `_Bool` becomes `Bool_`. Generated code's own names that a user's
/// name could hide begin with `kdl_` and do not end in `_`.
class CppNames {
 public:
  /// Returns a free name for `wanted`, with a number added if the name is taken. Picking a returned name in
  /// another scope gives the same name, if it is free there.
  std::string Pick(std::string_view wanted);
  /// Like `Pick`, but for the global scope: also adds `_` to names that the C library may declare there.
  std::string PickGlobal(std::string_view wanted);

 private:
  std::string PickFree(std::string_view wanted, bool is_global);

  std::set<std::string, std::less<>> taken_;
};

/// Returns whether the headers of the C library may declare `name`.
bool IsOfCLibrary(std::string_view name);

}  // namespace kdl::codegen
