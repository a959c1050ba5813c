#include "tools/doc/doc_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "tools/doc/html.h"
#include "tools/drawing/escaped.h"

namespace kdl::tools {

namespace {

using syntax::ConstItem;
using syntax::FunctionItem;
using syntax::FunctionKind;
using syntax::Item;
using syntax::ItemKind;
using syntax::TestItem;

/// The longest value of a const that its declaration shows, in bytes.
constexpr size_t kLongestValue = 400;

std::string_view Trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(" \n\t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \n\t") + 1 - first);
}

/// Returns the first sentence of a comment, or all of it if it has only one.
std::string FirstSentence(std::string_view comment) {
  std::string text;
  for (char ch : Trimmed(comment.substr(0, comment.find("\n\n")))) {
    bool is_blank = ch == '\n' || ch == ' ';
    if (!is_blank || !text.ends_with(' ')) text += is_blank ? ' ' : ch;
  }
  size_t end = text.find(". ");
  while (end != std::string::npos && end > 0 && text[end - 1] == '.')
    end = text.find(". ", end + 1);
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

std::string_view WordForKind(const Item& item) {
  if (const auto* function = syntax::DynAs<FunctionItem>(&item)) {
    return function->function_kind == FunctionKind::Kernel    ? "kernel"
           : function->function_kind == FunctionKind::Program ? "program"
                                                              : "function";
  }
  return item.kind == ItemKind::Const ? "constant" : "list of types";
}

std::string_view WordForDirection(const FunctionItem& function, const syntax::Param& param) {
  if (param.type->has_brackets && function.function_kind != FunctionKind::Fn) {
    return param.direction == syntax::Direction::Out     ? "output"
           : param.direction == syntax::Direction::InOut ? "input and output"
                                                         : "input";
  }
  return "value";
}

/// Whether the text contains the name as a word.
bool Mentions(std::string_view text, std::string_view name) {
  auto is_part = [&](size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1))
    if ((at == 0 || !is_part(at - 1)) && !is_part(at + name.size())) return true;
  return false;
}

/// Writes the page about one file.
class PageWriter {
 public:
  PageWriter(const SourceManager& sources, const syntax::Module& module, std::string_view prefix)
      : sources_(sources), module_(module), prefix_(prefix) {}

  void Write(DocPage& page) {
    std::string comment = FileComment();
    page.body = fmt::format("<h1>{}</h1>\n{}", Escaped(page.title), CommentHtml(comment));
    page.sections.push_back({"", page.title, comment});
    std::vector<const Item*> items = ShownItems();
    page.summary = comment.empty() ? Names(items) : FirstSentence(comment);
    page.body += Overview(items);
    for (const Item* item : items) {
      page.body += ItemHtml(*item);
      page.sections.push_back(
          {item->name.name.str(), Title(*item), item->doc + std::string(Declaration(*item))});
    }
  }

 private:
  /// Returns the `//` lines at the beginning of the file, up to the first empty line.
  std::string FileComment() const {
    std::string comment;
    std::string_view text = sources_.text(module_.file);
    while (text.starts_with("//") && !text.starts_with("///")) {
      size_t end = std::min(text.find('\n'), text.size());
      if (!text.starts_with("//!")) comment += fmt::format("{}\n", text.substr(2, end - 2));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return comment;
  }

  std::vector<const Item*> ShownItems() const {
    std::vector<const Item*> all;
    for (const Item* item : module_.items) {
      bool is_shown = item->kind == ItemKind::Function || item->kind == ItemKind::Const ||
                      item->kind == ItemKind::Types;
      if (is_shown) all.push_back(item);
    }
    bool exports = std::ranges::any_of(all, [](const Item* item) { return item->exported; });
    if (exports) std::erase_if(all, [](const Item* item) { return !item->exported; });
    return all;
  }

  static std::string Names(const std::vector<const Item*>& items) {
    std::vector<std::string> names;
    for (const Item* item : items) names.push_back(fmt::format("`{}`", item->name.name.text()));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  std::string Title(const Item& item) const {
    return fmt::format("{}{}", prefix_, item.name.name.text());
  }

  std::string Overview(const std::vector<const Item*>& items) const {
    if (items.size() < 2) return "";
    std::string rows;
    for (const Item* item : items) {
      std::string name = item->name.name.str();
      std::string text = FirstSentence(item->doc);
      rows += fmt::format("<tr><td><a href=\"#{}\">{}</a></td><td>{}</td></tr>\n", Escaped(name),
                          Breakable(name), text.empty() ? WordForKind(*item) : InlineHtml(text));
    }
    return fmt::format(
        "<div class=\"table\"><table>\n<tr><th>name</th><th>description</th></tr>\n"
        "{}</table></div>\n",
        rows);
  }

  /// Returns the text of an item up to its body.
  std::string_view Declaration(const Item& item) const {
    Span span = item.span;
    if (const auto* function = syntax::DynAs<FunctionItem>(&item)) {
      span.end = function->body->span.begin;
    } else if (const auto* constant = syntax::DynAs<ConstItem>(&item)) {
      if (span.end - span.begin > kLongestValue) span.end = constant->value->span.begin;
    }
    std::string_view text = Trimmed(sources_.text(span));
    return text.ends_with('=') ? Trimmed(text.substr(0, text.size() - 1)) : text;
  }

  std::string ItemHtml(const Item& item) const {
    std::string name = item.name.name.str();
    std::string html = fmt::format("<h2 id=\"{}\">{}</h2>\n<p class=\"kind\">{}</p>\n",
                                   Escaped(name), Breakable(Title(item)), WordForKind(item));
    html += CommentHtml(item.doc) + CodeBlock(Declaration(item));
    const auto* function = syntax::DynAs<FunctionItem>(&item);
    return function == nullptr
               ? html
               : html + Parameters(*function) + Contract(*function) + Examples(name);
  }

  /// Lets a long name break after its dots and underscores, on narrow screens.
  static std::string Breakable(std::string_view name) {
    std::string html;
    for (char ch : name) {
      html += Escaped(std::string_view(&ch, 1));
      if (ch == '.' || ch == '_') html += "<wbr>";
    }
    return html;
  }

  std::string Parameters(const FunctionItem& function) const {
    if (function.params.empty()) return "";
    std::string rows;
    for (const syntax::Param& param : function.params) {
      rows +=
          fmt::format("<tr><td><code>{}</code></td><td>{}{}</td><td><code>{}</code></td></tr>\n",
                      Escaped(param.name.name.text()), param.is_optional ? "optional " : "",
                      WordForDirection(function, param), Escaped(sources_.text(param.type->span)));
    }
    return fmt::format(
        "<div class=\"table\"><table>\n<tr><th>parameter</th><th>use</th><th>type</th></tr>\n{}"
        "</table></div>\n",
        rows);
  }

  std::string Contract(const FunctionItem& function) const {
    Span span = function.span;
    span.begin = function.body->span.end;
    std::string_view text = Trimmed(sources_.text(span));
    return text.empty() ? "" : fmt::format("<h3>Contract</h3>\n{}", CodeBlock(text));
  }

  /// Returns the tests of the file that use the name. They run, so they are examples that work.
  std::string Examples(std::string_view name) const {
    std::string html;
    for (const Item* item : module_.items) {
      const auto* test = syntax::DynAs<TestItem>(item);
      if (test == nullptr || !Mentions(sources_.text(test->body->span), name)) continue;
      html += fmt::format("<h3>Example: {}</h3>\n{}", Escaped(test->title),
                          CodeBlock(sources_.text(test->span)));
    }
    return html;
  }

  const SourceManager& sources_;
  const syntax::Module& module_;
  std::string_view prefix_;
};

}  // namespace

DocPage MakeDocPage(const SourceManager& sources, const syntax::Module& module, std::string file,
                    std::string title, std::string_view prefix) {
  DocPage page;
  page.file = std::move(file);
  page.title = std::move(title);
  PageWriter(sources, module, prefix).Write(page);
  return page;
}

}  // namespace kdl::tools
