#include "tools/explain/library_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "driver/compile/stdlib.h"

namespace kdl::tools {

namespace {

constexpr std::string_view kComment = "///";
constexpr std::string_view kHeadComment = "//";

bool IsNamePart(char ch) { return std::isalnum(static_cast<unsigned char>(ch)) != 0 || ch == '_'; }

std::string_view FirstName(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && IsNamePart(text[end])) ++end;
  return text.substr(0, end);
}

/// Returns the items of a kind, `export kernel ` or `export fn `, of one file. Each begins at the start of a
/// line, after its doc comment.
std::vector<LibraryItem> ItemsOf(std::string_view module, std::string_view text,
                                 std::string_view kind) {
  std::vector<LibraryItem> items;
  std::string comment;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.starts_with(kComment)) {
      comment += line.substr(kComment.size());
    } else {
      if (line.starts_with(kind)) {
        std::string_view name = FirstName(line.substr(kind.size()));
        if (!comment.empty()) comment.erase(0, 1);  // the blank after the slashes
        items.push_back({fmt::format("{}.{}", module, name), comment, text.substr(at)});
      }
      comment.clear();
    }
    at = end + 1;
  }
  return items;
}

std::vector<LibraryItem> AllItems(std::string_view kind) {
  std::vector<LibraryItem> all;
  for (const std::string& module : driver::StdlibNames()) {
    std::vector<LibraryItem> items = ItemsOf(module, driver::FindStdlibFile(module)->text, kind);
    all.insert(all.end(), items.begin(), items.end());
  }
  return all;
}

constexpr std::string_view kKernel = "export kernel ";
constexpr std::string_view kFunction = "export fn ";

/// Returns the place after the bracket that closes the one at `at`. The arrow `->` does not
/// contain one.
size_t AfterBrackets(std::string_view text, size_t at, char open, char close) {
  size_t depth = 0;
  for (; at < text.size(); ++at) {
    bool is_arrow = text[at] == '>' && text[at - 1] == '-';
    if (text[at] == open) ++depth;
    if (text[at] == close && !is_arrow && --depth == 0) return at + 1;
  }
  return at;
}

/// Returns the comment at the beginning of a file, as one line.
std::string HeadComment(std::string_view text) {
  std::string comment;
  while (text.starts_with(kHeadComment)) {
    size_t end = std::min(text.find('\n'), text.size());
    comment += text.substr(kHeadComment.size(), end - kHeadComment.size());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return comment.empty() ? comment : comment.substr(1);  // without the blank after the slashes
}

/// Returns the text of an item up to its body. Braces in its generic parameters are lists of choices.
std::string_view DeclarationIn(std::string_view text) {
  size_t at = text.find_first_of("<(");
  if (text[at] == '<') at = AfterBrackets(text, at, '<', '>');
  size_t body = text.find('{', AfterBrackets(text, text.find('(', at), '(', ')'));
  return text.substr(0, text.find_last_not_of(" \n", body - 1) + 1);
}

}  // namespace

std::vector<LibraryItem> LibraryKernels() { return AllItems(kKernel); }

std::vector<LibraryItem> LibraryFunctions() { return AllItems(kFunction); }

std::vector<LibraryItem> LibraryModules() {
  std::vector<LibraryItem> modules;
  for (const std::string& name : driver::StdlibNames()) {
    std::string_view text = driver::FindStdlibFile(name)->text;
    modules.push_back({name, HeadComment(text), text});
  }
  return modules;
}

std::vector<LibraryItem> LibraryItemsOf(std::string_view module) {
  std::vector<LibraryItem> items;
  for (const LibraryItem& one : LibraryModules()) {
    if (one.name != module) continue;
    for (std::string_view kind : {kKernel, kFunction}) {
      std::vector<LibraryItem> of_kind = ItemsOf(module, one.text, kind);
      items.insert(items.end(), of_kind.begin(), of_kind.end());
    }
  }
  return items;
}

std::string LibraryDeclaration(std::string_view name) {
  for (std::string_view kind : {kKernel, kFunction})
    for (const LibraryItem& item : AllItems(kind))
      if (item.name == name) return fmt::format("\n{}\n", DeclarationIn(item.text));
  return "";
}

}  // namespace kdl::tools
