#include "tools/doc/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "syntax/keywords.h"
#include "tools/drawing/escaped.h"

namespace kdl::tools {

namespace {

bool IsInWord(char ch) { return std::isalnum(static_cast<unsigned char>(ch)) != 0 || ch == '_'; }
bool BeginsNumber(char ch) { return std::isdigit(static_cast<unsigned char>(ch)) != 0; }

/// Returns the end of the comment, string, number or word at the beginning of the text, or 1.
size_t TokenEnd(std::string_view text) {
  if (text.starts_with("//")) return std::min(text.find('\n'), text.size());
  if (text.starts_with("/*")) {
    size_t end = text.find("*/", 2);
    return end == std::string_view::npos ? text.size() : end + 2;
  }
  size_t end = 1;
  if (text[0] == '"') {
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    return std::min(end + 1, text.size());
  }
  bool is_number = BeginsNumber(text[0]);
  if (!is_number && !IsInWord(text[0])) return 1;
  while (end < text.size() &&
         (IsInWord(text[end]) ||
          (is_number && text[end] == '.' && end + 1 < text.size() && BeginsNumber(text[end + 1]))))
    ++end;
  return end;
}

/// Returns the class of a token, by which style.css colours it, or an empty string.
std::string_view ClassOf(std::string_view token, const std::vector<std::string_view>& keywords) {
  if (token.starts_with("//") || token.starts_with("/*")) return "c";
  if (token[0] == '"') return "s";
  if (BeginsNumber(token[0])) return "n";
  return std::ranges::find(keywords, token) != keywords.end() ? "k" : "";
}

std::string Marked(std::string_view code) {
  const std::vector<std::string_view> keywords = syntax::Keywords();
  std::string html;
  while (!code.empty()) {
    std::string_view token = code.substr(0, TokenEnd(code));
    std::string_view kind = ClassOf(token, keywords);
    html += kind.empty() ? Escaped(token)
                         : fmt::format("<span class=\"{}\">{}</span>", kind, Escaped(token));
    code.remove_prefix(token.size());
  }
  return html;
}

/// The parts of a comment while it is converted.
class CommentWriter {
 public:
  void Add(std::string_view line) {
    if (is_code_ && !line.starts_with("```")) {
      code_ += fmt::format("{}\n", line);
    } else if (line.starts_with("```")) {
      Close();
      if (is_code_) html_ += CodeBlock(code_);
      code_.clear();
      is_code_ = !is_code_;
    } else if (line.empty()) {
      Close();
    } else if (line.starts_with("- ")) {
      if (!is_list_) Close();
      is_list_ = true;
      text_ += fmt::format("{}<li>{}", text_.empty() ? "" : "</li>", InlineHtml(line.substr(2)));
    } else {
      text_ += fmt::format("{}{}", text_.empty() ? "" : " ", InlineHtml(line));
    }
  }

  std::string Finish() {
    Close();
    return is_code_ ? html_ + CodeBlock(code_) : html_;
  }

 private:
  void Close() {
    if (!text_.empty())
      html_ += is_list_ ? fmt::format("<ul>{}</li></ul>", text_) : fmt::format("<p>{}</p>", text_);
    text_.clear();
    is_list_ = false;
  }

  std::string html_;
  std::string text_;  ///< of the paragraph or list that is not finished
  std::string code_;
  bool is_list_ = false;
  bool is_code_ = false;
};

}  // namespace

std::string CodeBlock(std::string_view code) {
  return fmt::format("<pre><code>{}</code></pre>\n", Marked(code));
}

std::string InlineHtml(std::string_view text) {
  std::string html;
  bool is_code = false;
  while (!text.empty()) {
    size_t end = text.find('`');
    std::string part = Escaped(text.substr(0, end));
    bool is_closed = is_code && end != std::string_view::npos;
    html += is_closed ? fmt::format("<code>{}</code>", part) : is_code ? "`" + part : part;
    if (end == std::string_view::npos) break;
    is_code = !is_code;
    text.remove_prefix(end + 1);
  }
  return html;
}

std::string CommentHtml(std::string_view comment) {
  CommentWriter writer;
  while (!comment.empty()) {
    size_t end = std::min(comment.find('\n'), comment.size());
    std::string_view line = comment.substr(0, end);
    if (line.starts_with(' ')) line.remove_prefix(1);
    writer.Add(line);
    comment.remove_prefix(std::min(end + 1, comment.size()));
  }
  return writer.Finish();
}

}  // namespace kdl::tools
