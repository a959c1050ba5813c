#include "syntax/format_comments.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kdl::syntax {

namespace {

/// Comments are aligned across at most this many lines without one, because those further apart do not look
/// like a column.
constexpr size_t kMostLinesBetween = 2;
constexpr size_t kSpacesBeforeComment = 2;

/// Returns the number of columns of the last line of a text.
size_t LastWidth(std::string_view text) {
  size_t newline = text.rfind('\n');
  if (newline != std::string_view::npos) text.remove_prefix(newline + 1);
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

/// Returns the columns of the comments of the lines, and zero for lines without one.
std::vector<size_t> CommentColumns(const std::vector<CodeLine>& lines) {
  std::vector<size_t> columns(lines.size(), 0);
  std::vector<size_t> aligned;  // the lines whose comments are aligned with the next one
  size_t column = 0;
  for (size_t i = 0; i <= lines.size(); ++i) {
    bool ends = i == lines.size() || lines[i].has_blank_before ||
                (!aligned.empty() && i - aligned.back() > kMostLinesBetween + 1);
    if (ends) {
      for (size_t line : aligned) columns[line] = column;
      aligned.clear();
      column = 0;
    }
    if (i == lines.size() || lines[i].comment.empty()) continue;
    aligned.push_back(i);
    column = std::max(column, LastWidth(lines[i].code) + kSpacesBeforeComment);
  }
  return columns;
}

}  // namespace

std::string JoinLines(const std::vector<CodeLine>& lines) {
  std::vector<size_t> columns = CommentColumns(lines);
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].has_blank_before) text += '\n';
    text += lines[i].code;
    if (!lines[i].comment.empty()) {
      text.append(columns[i] - LastWidth(lines[i].code), ' ');
      text += lines[i].comment;
    }
    text += '\n';
  }
  return text;
}

}  // namespace kdl::syntax
