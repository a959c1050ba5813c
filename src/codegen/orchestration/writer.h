#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kdl::codegen {

/// Writes lines of C++ or C with indentation.
class Writer {
 public:
  void Indent() { depth_ += 2; }
  void Outdent() { depth_ -= 2; }
  /// Writes one line, in a way that C compilers accept too. An empty line has no trailing blanks.
  void Line(std::string_view text = "");
  /// Writes `head item, item, … tail` in one line. If that would pass column 100, it uses several lines, aligned
  /// after `head`, or below it if that is too far to the right. A comment in `tail` may pass column 100.
  void List(std::string_view head, const std::vector<std::string>& items, std::string_view tail);
  /// Writes the lines of a doc comment, each after `prefix`.
  void Doc(std::string_view prefix, std::string_view doc);

  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  size_t depth_ = 0;
};

/// Adds `{a, b, c}` to a list, as one item, or as several if it is long.
void AddBraced(std::vector<std::string>& list, std::vector<std::string> items,
               std::string_view open = "{", std::string_view close = "}");

/// Returns "text" as a C++ literal.
std::string Quoted(std::string_view text);

}  // namespace kdl::codegen
