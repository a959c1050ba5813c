// A machine of clusters as a file describes it: YAML of which only flat `key: value` lines, lists in brackets and comments are
// taken. The compiler and the runtime both read it, and neither needs a library for it.
#pragma once

#include <charconv>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kdl {

struct ClusterDescription {
  std::string name;    // which images run there: those made for a machine of this name
  std::string triple;  // LLVM's, as are the next two
  std::string cpu;
  std::vector<std::string> features;
  std::int64_t clusters = 0;
  std::int64_t cores = 0;  // of a cluster: the workers of a team
  std::int64_t scratchpad_bytes = 0;
  std::int64_t memory_bytes = 0;      // global
  std::int64_t stack_bytes = 0;       // of a core
  std::int64_t deadline_seconds = 0;  // after which a cluster that does not get on is given up
  // Programs with their arguments, in which some words stand for files.
  std::vector<std::string> link;   // {image}: the file to make; {objects}: what it is made of
  std::vector<std::string> run;    // {image}: the linked file
  std::vector<std::string> lines;  // prints FILE:LINE of an {address} in {image}; may be missing
};

// Reads descriptions; `error` is empty, or one sentence that starts with `FILE:LINE: ` or `FILE: `.
class ClusterDescriptionReader {
 public:
  ClusterDescriptionReader(std::string_view file, std::string_view text) : file_(file) {
    while (!text.empty() && error.empty()) {
      const std::size_t end = text.find('\n');
      line_ = Trimmed(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      ++number_;
      if (!line_.empty() && line_[0] != '#') ReadLine();
    }
    if (error.empty()) CheckAll();
  }

  ClusterDescription description;
  std::string error;

 private:
  struct Word {
    std::string_view key;
    std::string ClusterDescription::* field;
  };
  struct Number {
    std::string_view key;
    std::int64_t ClusterDescription::* field;
    std::int64_t least;
    std::int64_t most;
    std::int64_t multiple;
  };
  struct List {
    std::string_view key;
    std::vector<std::string> ClusterDescription::* field;
    std::vector<std::string_view> files;  // words that it has to have
    bool may_be_missing = false;
  };
  using D = ClusterDescription;
  static constexpr Word kWords[] = {{"name", &D::name}, {"triple", &D::triple}, {"cpu", &D::cpu}};
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
  static constexpr Number kNumbers[] = {
      {"clusters", &D::clusters, 1, 256, 1},
      {"cores", &D::cores, 1, 256, 1},
      {"scratchpad_bytes", &D::scratchpad_bytes, 4096, kMostBytes, 4096},
      {"memory_bytes", &D::memory_bytes, 1 << 20, kMostBytes, 4096},
      {"stack_bytes", &D::stack_bytes, 16384, 1 << 30, 4096},
      {"deadline_seconds", &D::deadline_seconds, 1, 86400, 1}};
  static std::span<const List> Lists() {
    static const List kLists[] = {{"features", &D::features, {}},
                                  {"link", &D::link, {"{image}", "{objects}"}},
                                  {"run", &D::run, {"{image}"}},
                                  {"lines", &D::lines, {"{image}", "{address}"}, true}};
    return kLists;
  }

  static std::string_view Trimmed(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r";
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
  }
  static std::string_view Unquoted(std::string_view text) {
    const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
    return quoted ? text.substr(1, text.size() - 2) : text;
  }

  void Complain(std::string_view what) {
    error = file_ + ":" + std::to_string(number_) + ": ";
    error += what;
  }

  // `value` without a comment behind it.
  void ReadLine() {
    const std::size_t colon = line_.find(':');
    if (colon == std::string_view::npos) return Complain("a line reads `key: value`");
    const std::string_view key = Trimmed(line_.substr(0, colon));
    std::string_view value = line_.substr(colon + 1);
    value = Trimmed(value.substr(0, value.find(" #")));
    if (!seen_.insert(std::string(key)).second)
      return Complain("key '" + std::string(key) + "' stands twice");
    for (const Word& word : kWords) {
      if (word.key == key) return ReadWord(word, value);
    }
    for (const Number& number : kNumbers) {
      if (number.key == key) return ReadNumber(number, value);
    }
    for (const List& list : Lists()) {
      if (list.key == key) return ReadList(list, value);
    }
    Complain("there is no key '" + std::string(key) + "'; the keys are:" + Keys());
  }

  void ReadWord(const Word& word, std::string_view value) {
    description.*word.field = Unquoted(value);
    if ((description.*word.field).empty()) Complain(std::string(word.key) + " has no value");
  }

  void ReadNumber(const Number& row, std::string_view value) {
    std::int64_t& number = description.*row.field;
    const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool read = failed == std::errc() && end == value.data() + value.size();
    if (read && number >= row.least && number <= row.most && number % row.multiple == 0) return;
    std::string text = std::string(row.key) + " is a number from " + std::to_string(row.least) +
                       " to " + std::to_string(row.most);
    if (row.multiple > 1) text += ", a multiple of " + std::to_string(row.multiple);
    Complain(text + ", and '" + std::string(value) + "' is none");
  }

  void ReadList(const List& list, std::string_view value) {
    if (value.size() < 2 || value.front() != '[' || value.back() != ']')
      return Complain(std::string(list.key) + " is a list: [word, word]");
    value = Trimmed(value.substr(1, value.size() - 2));
    while (!value.empty()) {
      const bool quoted = value.front() == '"';
      const std::size_t end = value.find(quoted ? '"' : ',', 1);
      if (quoted && end == std::string_view::npos)
        return Complain(std::string(list.key) + " has a word whose quotes do not end");
      const std::string_view word =
          quoted ? value.substr(1, end - 1) : Trimmed(value.substr(0, end));
      if (word.empty() || word.front() == ',')
        return Complain(std::string(list.key) + " has an empty word");
      (description.*list.field).emplace_back(word);
      value = end == std::string_view::npos ? "" : value.substr(quoted ? end + 1 : end);
      if (value = Trimmed(value); value.empty()) return;
      if (value.front() != ',')
        return Complain(std::string(list.key) + " lacks a comma between two words");
      value = Trimmed(value.substr(1));
      if (value.empty()) return Complain(std::string(list.key) + " has an empty word");
    }
  }

  static std::string Keys() {
    std::string keys;
    for (const Word& word : kWords) (keys += " ") += word.key;
    for (const Number& number : kNumbers) (keys += " ") += number.key;
    for (const List& list : Lists()) (keys += " ") += list.key;
    return keys;
  }

  // Keys that are missing, and then words.
  void CheckAll() {
    std::string missing;
    const auto look = [&](std::string_view key) {
      if (!seen_.contains(std::string(key))) (missing += " ") += key;
    };
    for (const Word& word : kWords) look(word.key);
    for (const Number& number : kNumbers) look(number.key);
    for (const List& list : Lists()) {
      if (!list.may_be_missing) look(list.key);
    }
    if (!missing.empty()) error = file_ + ": these keys are missing:" + missing;
    for (const List& list : Lists()) CheckWords(list);
  }
  void CheckWords(const List& list) {
    const std::vector<std::string>& words = description.*list.field;
    if (!error.empty() || !seen_.contains(std::string(list.key))) return;
    for (const std::string_view file : list.files) {
      if (Has(words, file)) continue;
      error = file_ + ": " + std::string(list.key) + " has no word " + std::string(file);
      return;
    }
  }
  static bool Has(const std::vector<std::string>& words, std::string_view wanted) {
    for (const std::string& word : words) {
      if (word == wanted) return true;
    }
    return false;
  }

  std::string file_;
  std::string_view line_;
  int number_ = 0;
  std::set<std::string> seen_;
};

}  // namespace kdl
