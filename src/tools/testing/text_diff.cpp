#include "tools/testing/text_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kdl::tools {

namespace {

constexpr size_t kContext = 3;
/// If the table for comparing the lines of two texts would need more cells, all differences are
/// shown as a single block.
constexpr size_t kMostCells = size_t{16} << 20;

/// A line of a diff. `mark` is ' ' if the line is in both texts, '-' if only in the first, and '+'
/// if only in the second.
struct Edit {
  char mark;
  std::string_view line;
};

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

/// Adds the edits between two texts whose common head and tail have been removed. The edits keep a
/// longest common subsequence.
void AddMiddle(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b,
               std::vector<Edit>& edits) {
  size_t columns = b.size() + 1;
  bool small = (a.size() + 1) * columns <= kMostCells;
  std::vector<uint32_t> common(small ? (a.size() + 1) * columns : 0);
  if (small) {
    for (size_t i = a.size(); i-- > 0;) {
      for (size_t j = b.size(); j-- > 0;) {
        common[i * columns + j] =
            a[i] == b[j] ? common[(i + 1) * columns + j + 1] + 1
                         : std::max(common[(i + 1) * columns + j], common[i * columns + j + 1]);
      }
    }
  }
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (small && i < a.size() && j < b.size() && a[i] == b[j]) {
      edits.push_back({' ', a[i++]});
      ++j;
    } else if (i < a.size() && (!small || j == b.size() ||
                                common[(i + 1) * columns + j] >= common[i * columns + j + 1])) {
      edits.push_back({'-', a[i++]});
    } else {
      edits.push_back({'+', b[j++]});
    }
  }
}

std::vector<Edit> EditsBetween(std::string_view before, std::string_view after) {
  std::vector<std::string_view> a = Lines(before);
  std::vector<std::string_view> b = Lines(after);
  size_t head = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  size_t tail = 0;
  while (tail < a.size() - head && tail < b.size() - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  std::vector<Edit> edits;
  for (size_t i = 0; i < head; ++i) edits.push_back({' ', a[i]});
  AddMiddle({a.begin() + head, a.end() - tail}, {b.begin() + head, b.end() - tail}, edits);
  for (size_t i = a.size() - tail; i < a.size(); ++i) edits.push_back({' ', a[i]});
  return edits;
}

/// Returns the edits [begin, end) as one hunk. `before_line` and `after_line` are its first lines
/// in the two texts, counted from 0.
std::string Hunk(const std::vector<Edit>& edits, size_t begin, size_t end, size_t before_line,
                 size_t after_line) {
  size_t before_count = 0;
  size_t after_count = 0;
  std::string body;
  for (size_t i = begin; i < end; ++i) {
    before_count += edits[i].mark != '+' ? 1 : 0;
    after_count += edits[i].mark != '-' ? 1 : 0;
    body += fmt::format("{}{}", edits[i].mark, edits[i].line);
    if (!edits[i].line.ends_with('\n')) body += "\n\\ No newline at end of file\n";
  }
  return fmt::format("@@ -{},{} +{},{} @@\n{}", before_line + (before_count ? 1 : 0), before_count,
                     after_line + (after_count ? 1 : 0), after_count, body);
}

}  // namespace

std::string UnifiedDiff(std::string_view before, std::string_view after,
                        std::string_view before_name, std::string_view after_name) {
  if (before == after) return {};
  std::vector<Edit> edits = EditsBetween(before, after);
  std::string text = fmt::format("--- {}\n+++ {}\n", before_name, after_name);
  size_t before_line = 0;
  size_t after_line = 0;
  size_t at = 0;
  auto advance = [&](size_t to) {
    for (; at < to; ++at) {
      before_line += edits[at].mark != '+' ? 1 : 0;
      after_line += edits[at].mark != '-' ? 1 : 0;
    }
  };
  for (size_t i = 0; i < edits.size();) {
    if (edits[i].mark == ' ') {
      ++i;
      continue;
    }
    size_t end = i + 1;
    for (size_t k = end; k < edits.size() && k <= end + 2 * kContext; ++k) {
      if (edits[k].mark != ' ') end = k + 1;
    }
    advance(std::max(at, i - std::min(i, kContext)));
    size_t stop = std::min(edits.size(), end + kContext);
    text += Hunk(edits, at, stop, before_line, after_line);
    advance(stop);
    i = stop;
  }
  return text;
}

}  // namespace kdl::tools
