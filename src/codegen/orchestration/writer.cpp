#include "codegen/orchestration/writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kdl::codegen {

namespace {

constexpr size_t kColumns = 100;
constexpr size_t kContinuation = 4;

std::string Joined(const std::vector<std::string>& items) {
  return fmt::format("{}", fmt::join(items, ", "));
}

/// Returns whether C replaces the trigraph that consists of `??` and this character, even in comments.
bool IsTrigraph(char third) {
  return std::string_view("=/'()!<>-").find(third) != std::string_view::npos;
}

}  // namespace

/// Prevents two effects of text from the user's source: a backslash at its end would join a comment with the
/// next line, and C would replace a trigraph with another character.
void Writer::Line(std::string_view text) {
  if (!text.empty()) text_.append(depth_, ' ');
  for (size_t i = 0; i < text.size(); ++i) {
    text_ += text[i];
    bool is_trigraph = i + 2 < text.size() && text.substr(i, 2) == "??" && IsTrigraph(text[i + 2]);
    if (is_trigraph) text_ += ' ';
  }
  if (text.ends_with('\\')) text_ += " .";
  text_ += '\n';
}

void Writer::List(std::string_view head, const std::vector<std::string>& items,
                  std::string_view tail) {
  size_t code_tail = std::min(tail.find("  //"), tail.size());
  size_t longest = code_tail + (items.empty() ? 0 : items.back().size());
  for (const std::string& item : items) longest = std::max(longest, item.size() + 1);
  std::string line(head);
  size_t hanging = head.size();
  if (depth_ + head.size() + Joined(items).size() + code_tail > kColumns &&
      depth_ + head.size() + longest > kColumns) {
    Line(line);
    hanging = kContinuation;
    line.assign(hanging, ' ');
  }
  for (size_t i = 0; i < items.size(); ++i) {
    bool last = i + 1 == items.size();
    bool fresh = line.size() == hanging;
    size_t needed = items[i].size() + (last ? code_tail : 1) + (fresh ? 0 : 1);
    if (!fresh && depth_ + line.size() + needed > kColumns) {
      Line(line);
      line.assign(hanging, ' ');
      fresh = true;
    }
    line += fmt::format("{}{}{}", fresh ? "" : " ", items[i], last ? "" : ",");
  }
  Line(line + std::string(tail));
}

void Writer::Doc(std::string_view prefix, std::string_view doc) {
  while (!doc.empty()) {
    size_t end = std::min(doc.find('\n'), doc.size());
    std::string_view line = doc.substr(0, end);
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    Line(fmt::format("{}{}{}", prefix, line.empty() || line.front() == ' ' ? "" : " ", line));
    doc.remove_prefix(std::min(end + 1, doc.size()));
  }
}

void AddBraced(std::vector<std::string>& list, std::vector<std::string> items,
               std::string_view open, std::string_view close) {
  std::string whole = fmt::format("{}{}{}", open, Joined(items), close);
  if (whole.size() <= kColumns / 2) {
    list.push_back(std::move(whole));
    return;
  }
  items.front().insert(0, open);
  items.back() += close;
  list.insert(list.end(), items.begin(), items.end());
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || (c == '?' && quoted.back() == '?')) {
      quoted += '\\';
      quoted += c;
    } else if (byte < 32 || byte == 127) {
      quoted += fmt::format("\\{:03o}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace kdl::codegen
