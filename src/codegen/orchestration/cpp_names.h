#pragma once

#include <set>
#include <string>
#include <string_view>

namespace kdl::codegen {

/// Names of one C++ scope. A name of the user keeps its spelling unless C++ or this code needs the word.
class CppNames {
 public:
  /// `wanted`, with `_` behind it where it is a word of C++ or of the generated code, or a number where it is taken.
  std::string Pick(std::string_view wanted);
  /// Like `Pick`, for a name of the global namespace: functions of the C library get the `_` too.
  std::string PickGlobal(std::string_view wanted);
  /// Like `Pick`, for a name that is seen where the runtime's `kdl_value` is meant: what begins with `kdl_` gets the `_`.
  std::string PickLocal(std::string_view wanted);

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace kdl::codegen
