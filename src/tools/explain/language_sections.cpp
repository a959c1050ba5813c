#include "tools/explain/language_sections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kdl::tools {

namespace {

constexpr std::string_view kLanguage =
#include "language.inc"
    ;

struct Topic {
  std::string_view word;
  std::string_view title;
};
constexpr Topic kTopics[] = {
#define KDL_TOPIC(word, title) {word, title},
#include "tools/explain/topics.def"
};

struct Section {
  size_t level;  ///< the number of `#` before the title
  std::string_view title;
  std::string_view text;  ///< from the line after the title up to the next title
};

/// Splits the page at its titles. A line of an example that begins with `#` is not a title.
std::vector<Section> SplitSections(std::string_view page) {
  std::vector<Section> sections;
  bool is_code = false;
  size_t text_begin = 0;
  for (size_t at = 0; at < page.size();) {
    size_t end = std::min(page.find('\n', at), page.size() - 1) + 1;
    std::string_view line = page.substr(at, end - at - 1);
    if (line.starts_with("```")) is_code = !is_code;
    if (!is_code && line.starts_with('#')) {
      if (!sections.empty()) sections.back().text = page.substr(text_begin, at - text_begin);
      size_t level = line.find_first_not_of('#');
      sections.push_back({level, line.substr(level + 1), {}});
      text_begin = end;
    }
    at = end;
  }
  if (!sections.empty()) sections.back().text = page.substr(text_begin);
  return sections;
}

const std::vector<Section>& Sections() {
  static const std::vector<Section> sections = SplitSections(kLanguage);
  return sections;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

/// Returns the command that explains the section.
std::string CommandFor(std::string_view title) {
  std::string word = Lower(title);
  std::string_view quote = word.find(' ') == std::string::npos ? "" : "'";
  return fmt::format("  kernelc explain {0}{1}{0}\n", quote, word);
}

}  // namespace

std::string LanguageSection(std::string_view word) {
  std::string title = Lower(word);
  for (const Topic& topic : kTopics)
    if (topic.word == word) title = Lower(topic.title);
  const std::vector<Section>& sections = Sections();
  auto found = std::ranges::find_if(
      sections, [&](const Section& section) { return Lower(section.title) == title; });
  if (found == sections.end()) return "";
  std::string_view body = found->text.substr(0, found->text.find_last_not_of('\n') + 1);
  std::string text = fmt::format("{}\n{}\n", found->title, body);
  std::string below;
  for (auto next = found + 1; next != sections.end() && next->level > found->level; ++next)
    below += CommandFor(next->title);
  if (!below.empty()) text += "\nMore about it:\n" + below;
  return text;
}

std::vector<std::string> LanguageWords() {
  std::vector<std::string> words;
  for (const Topic& topic : kTopics) words.emplace_back(topic.word);
  for (const Section& section : Sections()) words.push_back(Lower(section.title));
  return words;
}

}  // namespace kdl::tools
