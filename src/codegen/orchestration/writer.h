#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kdl::codegen {

/// Lines of C++ with indentation.
class Writer {
 public:
  void Indent() { depth_ += 2; }
  void Outdent() { depth_ -= 2; }
  /// One line, for compilers of C, too; an empty one is without blanks.
  void Line(std::string_view text = "");
  /// `head item, item, … tail` in one line; where it would pass column 100 in several, aligned after `head`, or below
  /// it where that is too far to the right. A comment in `tail` may pass the column.
  void List(std::string_view head, const std::vector<std::string>& items, std::string_view tail);
  /// The lines of a doc comment, each after `prefix`.
  void Doc(std::string_view prefix, std::string_view doc);

  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  size_t depth_ = 0;
};

/// Adds `{a, b, c}` to a list: as one item, or as several where it is long.
void AddBraced(std::vector<std::string>& list, std::vector<std::string> items,
               std::string_view open = "{", std::string_view close = "}");

/// "text" as a C++ literal.
std::string Quoted(std::string_view text);

}  // namespace kdl::codegen
