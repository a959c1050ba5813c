#pragma once

#include <set>
#include <string>
#include <string_view>

namespace kdl::codegen {

/// Chooses the names in one scope of generated C or C++.
///
/// A user's name keeps its spelling if it can be neither a macro, nor a keyword of C or C++, nor a name that
/// generated code uses itself. Names that are not macros begin with a small letter or with a capital and a
/// small letter, or consist of a capital and any number of digits. A name that keeps its spelling has no `_`
/// at either end, no two `_` in a row, and does not begin with `kdl_`. All other names are changed: they lose
/// the `_` at their ends and all but one of several `_` in a row, and one `_` is added at the end. For
/// example, `N`, `head_dim` and `Linear` stay the same, but `HEAD_DIM` becomes `HEAD_DIM_`, and `_Bool`
/// becomes `Bool_`. If a user's name could hide a name that generated code uses itself, that name begins with
/// `kdl_` and does not end in `_`.
class CppNames {
 public:
  /// Returns the name to use for `wanted`, changed as described above. Adds a number if that name is taken in
  /// this scope. A returned name that is picked again in another scope does not change, unless it is taken in
  /// that scope.
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
