#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kdl::tools {

/// Returns the section of grammar/LANGUAGE.md about a word of the language, or with this title: its text up to the next
/// title, and the titles of the sections below it. Returns an empty string if there is none.
std::string LanguageSection(std::string_view word);

/// Returns the words that LanguageSection explains: those of topics.def, and the titles in lower case.
std::vector<std::string> LanguageWords();

}  // namespace kdl::tools
