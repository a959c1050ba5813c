#include "tools/testing/golden_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

namespace kdl::tools {

namespace {

constexpr std::string_view kDirective = "//!";
constexpr std::string_view kAnnotation = "//~ ";
constexpr std::string_view kSection = "//=== ";
constexpr std::string_view kText = "//|";
constexpr std::string_view kNoNewline = "//\\ no newline at the end";
constexpr std::string_view kFile = "{file}";
constexpr std::string_view kStdout = "stdout";
constexpr std::string_view kStderr = "stderr";
constexpr std::string_view kOf = " of ";

std::string_view TrimRight(std::string_view text) {
  size_t end = text.find_last_not_of(" \t\r\n");
  return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

std::string_view Trim(std::string_view text) {
  text = TrimRight(text);
  size_t start = text.find_first_not_of(" \t");
  return text.substr(start == std::string_view::npos ? text.size() : start);
}

/// Removes the first line, with its line end, from `text` and returns it.
std::string_view TakeLine(std::string_view& text) {
  size_t end = text.find('\n');
  std::string_view line = text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
  text.remove_prefix(line.size());
  return line;
}

GoldenCommand CommandOf(std::string_view text, std::string_view name, bool add_file) {
  GoldenCommand command{SplitWords(text)};
  bool placed = !add_file;
  for (std::string& word : command.words) {
    for (size_t at = word.find(kFile); at != std::string::npos;
         at = word.find(kFile, at + name.size())) {
      word.replace(at, kFile.size(), name);
      placed = true;
    }
  }
  if (!placed) command.words.emplace_back(name);
  return command;
}

/// Returns whether a relative path stays in its folder. Its file is copied to the same path in another folder.
bool StaysInFolder(std::string_view path) {
  auto normal = std::filesystem::path(path).lexically_normal();
  return normal.is_relative() && !normal.empty() && *normal.begin() != "..";
}

Status ReadDirective(std::string_view line, std::string_view name, GoldenFile& file) {
  std::string_view text = Trim(line.substr(kDirective.size()));
  size_t colon = text.find(':');
  std::string_view key = text.substr(0, colon);
  std::string_view value =
      colon == std::string_view::npos ? std::string_view() : Trim(text.substr(colon + 1));
  if (key == "args" || key == "command") {
    file.commands.push_back(CommandOf(value, name, key == "args"));
  } else if (key == "files") {
    for (std::string& word : SplitWords(value)) {
      if (!StaysInFolder(word))
        return Failure{fmt::format(
            "'//! files: {}' is not a file of this folder: write a path below it", word)};
      file.companions.push_back(std::move(word));
    }
  } else if (key == "exit") {
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), file.exit_code);
    if (error != std::errc() || end != value.data() + value.size()) {
      return Failure{fmt::format("'//! exit: {}' is not an exit code: write a number", value)};
    }
  } else {
    return Failure{fmt::format(
        "'//! {}' is not one of '//! args:', '//! command:', '//! files:', '//! exit:'", text)};
  }
  return {};
}

Status ReadSections(std::string_view text, GoldenFile& file) {
  while (!text.empty()) {
    std::string_view whole = TakeLine(text);
    std::string_view line = TrimRight(whole);
    if (line.starts_with(kSection)) {
      file.sections.push_back({std::string(Trim(line.substr(kSection.size()))), {}});
    } else if (whole.starts_with(kText)) {
      if (whole.ends_with('\n')) whole.remove_suffix(1);
      whole.remove_prefix(std::min(whole.size(), kText.size() + 1));
      file.sections.back().text += fmt::format("{}\n", whole);
    } else if (line == kNoNewline && !file.sections.back().text.empty()) {
      file.sections.back().text.pop_back();
    } else if (!line.empty()) {
      return Failure{fmt::format("'{}' is in section '{}', whose lines begin with '//| '", line,
                                 file.sections.back().name)};
    }
  }
  return {};
}

std::string FormatSection(const GoldenSection& section) {
  std::string out = fmt::format("{}{}\n", kSection, section.name);
  std::string_view rest = section.text;
  while (!rest.empty()) {
    std::string_view line = TakeLine(rest);
    bool ends = line.ends_with('\n');
    if (ends) line.remove_suffix(1);
    out += line.empty() ? fmt::format("{}\n", kText) : fmt::format("{} {}\n", kText, line);
    if (!ends) out += fmt::format("{}\n", kNoNewline);
  }
  return out;
}

// -- Diagnostics as annotations -------------------------------------------------------------

/// A diagnostic `NAME:12:9: error: …`, split into the line number and the rest.
struct Placed {
  size_t line = 0;
  std::string text;  ///< such as `9: error: …`
};
std::optional<Placed> ReadPlaced(std::string_view line, std::string_view name) {
  if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") return std::nullopt;
  line.remove_prefix(name.size() + 1);
  Placed placed;
  auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), placed.line);
  size_t used = static_cast<size_t>(end - line.data());
  if (error != std::errc() || line.substr(used, 1) != ":") return std::nullopt;
  placed.text = line.substr(used + 1);
  return placed;
}

/// Maps the compiler's line numbers, which also count annotations, to indices into `lines`. Lines
/// before the first source line map to -1.
std::vector<int> LineIndex(const GoldenFile& file) {
  std::vector<int> index = {-1};
  index.insert(index.end(), file.above.size(), -1);
  for (size_t i = 0; i < file.lines.size(); ++i) {
    index.insert(index.end(), 1 + file.lines[i].annotations.size(), static_cast<int>(i));
  }
  return index;
}

void Annotate(GoldenFile& file, int index, std::string text) {
  auto& annotations = index < 0 ? file.above : file.lines[static_cast<size_t>(index)].annotations;
  annotations.push_back(std::move(text));
}

void ClearAnnotations(GoldenFile& file) {
  file.above.clear();
  for (GoldenLine& line : file.lines) line.annotations.clear();
}

/// Adds all diagnostics on standard error as annotations to the lines that they refer to. Returns
/// false if some text on standard error does not belong to a line.
bool AnnotateAll(GoldenFile& file, std::string_view err, std::string_view name) {
  std::vector<int> index = LineIndex(file);
  ClearAnnotations(file);
  constexpr int kNowhere = -2;
  int last_error = kNowhere;
  while (!err.empty()) {
    std::string_view line = TrimRight(TakeLine(err));
    std::optional<Placed> placed = ReadPlaced(line, name);
    if (placed) {
      if (placed->line >= index.size()) return false;
      int at = index[placed->line];
      if (placed->text.find(": note: ") == std::string::npos) last_error = at;
      Annotate(file, at, placed->text);
    } else if (last_error != kNowhere &&
               (line.starts_with("help: ") || line.starts_with("note: "))) {
      Annotate(file, last_error, std::string(line));
    } else if (last_error == kNowhere || !line.starts_with("  ")) {
      return false;
    }
  }
  return true;
}

void SetSection(GoldenFile& file, std::string_view name, const std::string& text) {
  auto found = std::find_if(file.sections.begin(), file.sections.end(),
                            [&](const GoldenSection& s) { return s.name == name; });
  if (text.empty()) {
    if (found != file.sections.end()) file.sections.erase(found);
  } else if (found != file.sections.end()) {
    found->text = text;
  } else {
    file.sections.push_back({std::string(name), text});
  }
}

// -- Blocks of the output ------------------------------------------------------------------------

size_t IndentOf(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// Renumbers names such as `%57` in the order of their first use, so that the text of a block does
/// not depend on the text around it.
std::string Renumbered(std::string_view text) {
  std::map<std::string_view, size_t> numbers;
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    out += text[at];
    size_t end = at + 1;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    bool is_name = end < text.size() &&
                   (std::isalpha(static_cast<unsigned char>(text[end])) || text[end] == '_');
    if (text[at] != '%' || end == at + 1 || is_name) continue;
    std::string_view number = text.substr(at + 1, end - at - 1);
    out += fmt::format("{}", numbers.try_emplace(number, numbers.size()).first->second);
    at = end - 1;
  }
  return out;
}

/// Returns the first line that contains `start`, with the block that the line opens, if any.
/// Returns an empty string if no line contains `start`.
std::string OutputSection(std::string_view out, std::string_view start) {
  std::string part;
  std::optional<size_t> indent;
  while (!out.empty()) {
    std::string_view line = TakeLine(out);
    if (!indent && line.find(start) == std::string_view::npos) continue;
    bool closes = indent && IndentOf(line) == *indent && Trim(line).starts_with("}");
    bool opens = TrimRight(line).ends_with("{") || TrimRight(line).ends_with(",");
    bool ends = !opens && (!indent || closes);
    if (!indent) indent = IndentOf(line);
    part += line.substr(std::min(IndentOf(line), *indent));
    if (ends) break;
  }
  return Renumbered(part);
}

/// Returns the expected contents of a section. `output` is the whole output to which the section's
/// name refers.
std::string Expected(const GoldenSection& section, const std::string& output) {
  std::string_view name = section.name;
  size_t of = name.find(kOf);
  return of == std::string_view::npos ? output
                                      : OutputSection(output, name.substr(of + kOf.size()));
}

}  // namespace

std::string GoldenSection::output() const { return name.substr(0, name.find(kOf)); }

const GoldenSection* GoldenFile::Find(std::string_view name) const {
  for (const GoldenSection& section : sections) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

std::vector<std::string> SplitWords(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (char c : text) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        words.back() += c;
      }
      continue;
    }
    if (c == ' ' || c == '\t') {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == '\'' || c == '"') {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  return words;
}

Result<std::optional<GoldenFile>> ParseGolden(std::string_view text, std::string_view name) {
  GoldenFile file;
  while (!text.empty()) {
    if (text.starts_with(kSection)) break;
    std::string_view line = TakeLine(text);
    std::string_view content = Trim(line);
    if (content.starts_with(kAnnotation)) {
      std::string annotation(content.substr(kAnnotation.size()));
      Annotate(file, static_cast<int>(file.lines.size()) - 1, std::move(annotation));
      continue;
    }
    if (content.starts_with(kDirective)) {
      Status read = ReadDirective(content, name, file);
      if (!read.ok()) return read.failure();
    }
    file.lines.push_back({std::string(line), {}});
  }
  if (file.commands.empty()) return std::optional<GoldenFile>();
  Status read = ReadSections(text, file);
  if (!read.ok()) return read.failure();
  return std::optional(std::move(file));
}

std::string CompilerInput(const GoldenFile& file) {
  std::string text;
  auto add = [&](const std::vector<std::string>& annotations) {
    for (const std::string& one : annotations) text += fmt::format("{}{}\n", kAnnotation, one);
  };
  add(file.above);
  for (const GoldenLine& line : file.lines) {
    text += line.text;
    if (!line.annotations.empty() && !text.ends_with('\n')) text += '\n';
    add(line.annotations);
  }
  return text;
}

std::string FormatGolden(const GoldenFile& file) {
  std::string text = CompilerInput(file);
  for (const GoldenSection& section : file.sections) {
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    text += FormatSection(section);
  }
  return text;
}

GoldenFile WithActual(const GoldenFile& file, const GoldenActual& actual, std::string_view name) {
  GoldenFile updated = file;
  bool in_parts = std::ranges::any_of(file.sections, [](const GoldenSection& section) {
    return section.output() == kStdout && section.name != kStdout;
  });
  if (!in_parts) SetSection(updated, kStdout, actual.out);
  bool as_text = file.Find(kStderr) != nullptr;
  if (as_text || !AnnotateAll(updated, actual.err, name)) {
    ClearAnnotations(updated);
    SetSection(updated, kStderr, actual.err);
  }
  for (const GoldenSection& section : file.sections) {
    if (section.name == kStdout || section.name == kStderr) continue;
    const std::string output = section.output();
    auto found = std::ranges::find(actual.files, output, &GoldenSection::name);
    std::string text = output == kStdout             ? actual.out
                       : found == actual.files.end() ? std::string()
                                                     : found->text;
    SetSection(updated, section.name, Expected(section, text));
  }
  return updated;
}

}  // namespace kdl::tools
