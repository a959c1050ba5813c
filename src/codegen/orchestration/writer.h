#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kdl::codegen {

/// Writes indented lines of C++ or C.
class Writer {
 public:
  void Indent() { depth_ += 2; }
  void Outdent() { depth_ -= 2; }
  /// Writes one line so that C compilers accept it even if it contains text from the user. An empty line has
  /// no trailing blanks.
  void Line(std::string_view text = "");
  /// Writes `head item, item, … tail` on one line. If that line would exceed column 100, it is split into
  /// several lines. These are aligned to the end of `head`, or placed below it if that is too far to the
  /// right. A comment in `tail` may exceed column 100.
  void List(std::string_view head, const std::vector<std::string>& items, std::string_view tail);
  /// Writes the lines of a doc comment, each with `prefix` at its start.
  void Doc(std::string_view prefix, std::string_view doc);

  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  size_t depth_ = 0;
};

/// Adds `{a, b, c}` to a list, as one item if it is short, otherwise as several items.
void AddBraced(std::vector<std::string>& list, std::vector<std::string> items,
               std::string_view open = "{", std::string_view close = "}");

/// Returns the text as a quoted C++ literal.
std::string Quoted(std::string_view text);

}  // namespace kdl::codegen
