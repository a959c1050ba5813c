#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kdl::syntax {

/// A line of formatted code, and the comment at its end.
struct CodeLine {
  std::string code;
  std::string_view comment;  ///< empty if there is none
  bool has_blank_before = false;
};

/// Returns the text of the lines. Comments at the ends of nearby lines begin in the same column.
std::string JoinLines(const std::vector<CodeLine>& lines);

}  // namespace kdl::syntax
