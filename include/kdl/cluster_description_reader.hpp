// Reads descriptions of cluster machines (see cluster_description.hpp).
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kdl/cluster_description.hpp"

namespace kdl {

// Reads one description. If that succeeds, `error` is empty. Otherwise it is a sentence that starts with
// `FILE:LINE: ` or `FILE: `.
class ClusterDescriptionReader {
 public:
  // Paths in the text are relative to `folder`. If `folder` is empty, they are relative to the folder of
  // `file`.
  ClusterDescriptionReader(std::string_view file, std::string_view text,
                           std::string_view folder = {})
      : file_(file), folder_(folder) {
    if (folder.empty()) folder_ = file.substr(0, file.rfind('/') + 1);
    while (!text.empty() && error.empty()) {
      const std::size_t end = text.find('\n');
      line_ = WithoutComment(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      ++number_;
      if (!Trimmed(line_).empty() && line_ != "---") ReadLine();
    }
    if (error.empty()) CheckAll();
    if (error.empty()) FindFiles();
  }

  // Returns the prefix `FILE:LINE: ` for the line of a key, or `FILE: ` if the key is missing.
  std::string At(std::string_view key) const {
    const auto line = lines_.find(std::string(key));
    return file_ + ":" + (line == lines_.end() ? " " : std::to_string(line->second) + ": ");
  }

  ClusterDescription description;
  std::string error;

 private:
  using Word = cluster_keys::Word;
  using Choice = cluster_keys::Choice;
  using Number = cluster_keys::Number;
  using List = cluster_keys::List;

  static std::string_view Trimmed(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r";
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
  }
  // Removes a comment from the line. A comment starts at the beginning of the line or after a blank, but not
  // inside quotes.
  static std::string_view WithoutComment(std::string_view line) {
    char quote = 0;
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (quote != 0) {
        if (line[at] == quote) quote = 0;
      } else if (line[at] == '#' && (at == 0 || IsBlank(line[at - 1]))) {
        line = line.substr(0, at);
      } else if (line[at] == '"' || line[at] == '\'') {
        quote = line[at];
      }
    }
    while (!line.empty() && IsBlank(line.back())) line.remove_suffix(1);
    return line;
  }
  static bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  void Complain(std::string_view what) {
    error = file_ + ":" + std::to_string(number_) + ": ";
    error += what;
  }

  void ReadLine() {
    const std::string_view text = Trimmed(line_);
    if (text[0] == '-' && (text.size() == 1 || IsBlank(text[1]))) return ReadItem(text.substr(1));
    open_ = nullptr;
    const std::size_t colon = line_.find(':');
    const bool is_key = colon != std::string_view::npos && !IsBlank(line_[0]) &&
                        (colon + 1 == line_.size() || IsBlank(line_[colon + 1]));
    if (!is_key) return Complain("expected a line `key: value` without leading blanks");
    const std::string_view key = Trimmed(line_.substr(0, colon));
    const std::string_view value = Trimmed(line_.substr(colon + 1));
    if (!lines_.emplace(key, number_).second)
      return Complain("key '" + std::string(key) + "' is given twice");
    for (const Word& word : cluster_keys::kWords) {
      if (word.key == key) return ReadWord(word, value);
    }
    for (const Choice& choice : cluster_keys::Choices()) {
      if (choice.key == key) return ReadChoice(choice, value);
    }
    for (const Number& number : cluster_keys::kNumbers) {
      if (number.key == key) return ReadNumber(number, value);
    }
    for (const List& list : cluster_keys::Lists()) {
      if (list.key == key) return ReadList(list, value);
    }
    Complain("unknown key '" + std::string(key) + "'; the keys are:" + Keys());
  }

  void ReadWord(const Word& word, std::string_view value) {
    std::string& field = description.*word.field;
    field.clear();
    if (!TakeWord(word.key, &value, false, &field)) return;
    if (!value.empty()) return Complain(std::string(word.key) + " must be one word");
    if (word.is_name && !IsName(field))
      Complain(
          std::string(word.key) +
          " must be a word of letters, digits, '_', '.' and '-' that begins with a letter, not '" +
          field + "'");
  }

  // Whether the word can be a part of file names and symbol names.
  static bool IsName(std::string_view word) {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    constexpr std::string_view kOthers = "0123456789_.-";
    for (const char c : word) {
      if (kLetters.find(c) == std::string_view::npos && kOthers.find(c) == std::string_view::npos)
        return false;
    }
    return kLetters.find(word.front()) != std::string_view::npos;
  }

  void ReadChoice(const Choice& choice, std::string_view value) {
    std::string known;
    for (std::size_t word = 0; word < choice.words.size(); ++word) {
      if (choice.words[word] == value) return choice.set(description, word);
      (known += word == 0 ? "" : ", ") += choice.words[word];
    }
    Complain(std::string(choice.key) + " must be one of " + known + ", not '" + std::string(value) +
             "'");
  }

  void ReadNumber(const Number& row, std::string_view value) {
    std::int64_t& number = description.*row.field;
    const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
    bool holds = failed == std::errc() && end == value.data() + value.size();
    holds = holds && number >= row.least && number <= row.most && number % row.multiple == 0;
    if (holds && !(row.is_power && (number & (number - 1)) != 0)) return;
    std::string text = std::string(row.key) + " must be a number from " +
                       std::to_string(row.least) + " to " + std::to_string(row.most);
    if (row.multiple > 1) text += ", a multiple of " + std::to_string(row.multiple);
    if (row.is_power) text += ", a power of two";
    Complain(text + ", not '" + std::string(value) + "'");
  }

  // Removes a word, quoted or not, from `text`, and stores it in `word`. The word ends at the end of the text
  // or, in a list, at a comma.
  bool TakeWord(std::string_view key, std::string_view* text, bool in_list, std::string* word) {
    const char first = text->empty() ? '\0' : text->front();
    const bool quoted = first == '"' || first == '\'';
    if (quoted) text->remove_prefix(1);
    const std::size_t end = quoted ? text->find(first) : in_list ? text->find(',') : text->size();
    if (quoted && end == std::string_view::npos)
      return Complain(std::string(key) + " has a word without its closing quote"), false;
    const std::string_view taken = quoted ? text->substr(0, end) : Trimmed(text->substr(0, end));
    if (taken.empty()) return Complain(std::string(key) + " has an empty word"), false;
    if (first == '"' && taken.find('\\') != std::string_view::npos)
      return Complain(std::string(key) + " has a backslash in double quotes; use single quotes"),
             false;
    *word = taken;
    text->remove_prefix(end == std::string_view::npos ? text->size() : end + (quoted ? 1 : 0));
    *text = Trimmed(*text);
    return true;
  }

  // Reads a list in brackets. If the value is empty, the list's words follow on `- word` lines.
  void ReadList(const List& list, std::string_view value) {
    (description.*list.field).clear();
    if (value.empty()) {
      open_ = &list;
      return;
    }
    if (value.size() < 2 || value.front() != '[' || value.back() != ']')
      return Complain(std::string(list.key) + " must be a list: [word, word]");
    value = Trimmed(value.substr(1, value.size() - 2));
    while (!value.empty()) {
      std::string word;
      if (!TakeWord(list.key, &value, true, &word)) return;
      (description.*list.field).push_back(std::move(word));
      if (value.empty()) return;
      if (value.front() != ',')
        return Complain(std::string(list.key) + " needs a comma between two words");
      value = Trimmed(value.substr(1));
      if (value.empty()) return Complain(std::string(list.key) + " has an empty word");
    }
  }

  void ReadItem(std::string_view text) {
    if (open_ == nullptr) return Complain("a line `- word` must follow the key of a list");
    text = Trimmed(text);
    std::string word;
    if (!TakeWord(open_->key, &text, false, &word)) return;
    if (!text.empty()) return Complain(std::string(open_->key) + " has two words in one line");
    (description.*open_->field).push_back(std::move(word));
  }

  static std::string Keys() {
    std::string keys;
    for (const Word& word : cluster_keys::kWords) (keys += " ") += word.key;
    for (const Choice& choice : cluster_keys::Choices()) (keys += " ") += choice.key;
    for (const Number& number : cluster_keys::kNumbers) (keys += " ") += number.key;
    for (const List& list : cluster_keys::Lists()) (keys += " ") += list.key;
    return keys;
  }

  // Checks that no key is missing, and then that lists contain the required words.
  void CheckAll() {
    std::string missing;
    const auto look = [&](std::string_view key) {
      if (!lines_.contains(std::string(key))) (missing += " ") += key;
    };
    for (const Word& word : cluster_keys::kWords) {
      if (!word.may_be_missing) look(word.key);
    }
    for (const Number& number : cluster_keys::kNumbers) {
      if (!number.may_be_missing) look(number.key);
    }
    for (const List& list : cluster_keys::Lists()) {
      if (!list.may_be_missing) look(list.key);
    }
    if (!missing.empty()) error = file_ + ": these keys are missing:" + missing;
    for (const List& list : cluster_keys::Lists()) CheckWords(list);
    if (error.empty() && description.code != ClusterCode::Llvm && description.compile.empty())
      error =
          file_ + ": the code is for another compiler, but its command line, `compile`, is missing";
    if (error.empty() && description.launch_scratchpad_bytes() == 0)
      error = file_ + ": a core's part of the scratchpad has fewer than 64 bytes";
  }
  void CheckWords(const List& list) {
    const std::vector<std::string>& words = description.*list.field;
    if (!error.empty() || !lines_.contains(std::string(list.key))) return;
    for (const std::string_view file : list.files) {
      if (Has(words, file)) continue;
      error = file_ + ": " + std::string(list.key) + " has no word " + std::string(file);
      return;
    }
  }
  // Makes paths absolute that are relative to the folder of the description. These are the path of the boot
  // code, a program's path if it contains a `/`, and words that begin with ./ or ../. Other words that
  // contain a `/` are not necessarily paths, so they are not changed.
  void FindFiles() {
    FindFile(&description.boot);
    for (const List& list : cluster_keys::Lists()) {
      if (list.files.empty()) continue;
      std::vector<std::string>& words = description.*list.field;
      for (std::string& word : words) {
        const bool is_program = &word == words.data() && word.find('/') != std::string::npos;
        if (is_program || word.substr(0, 2) == "./" || word.substr(0, 3) == "../") FindFile(&word);
      }
    }
  }
  void FindFile(std::string* path) const {
    if (!path->empty() && path->front() != '/') path->insert(0, folder_);
  }

  static bool Has(const std::vector<std::string>& words, std::string_view wanted) {
    for (const std::string& word : words) {
      if (word == wanted) return true;
    }
    return false;
  }

  std::string file_;
  std::string folder_;  // empty, or ends with a `/`
  std::string_view line_;
  int number_ = 0;
  std::map<std::string, int> lines_;  // line numbers by key
  const List* open_ = nullptr;        // the list to which `- word` lines are added
};

}  // namespace kdl
