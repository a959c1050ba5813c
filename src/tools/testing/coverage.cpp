#include "tools/testing/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "driver/options.h"
#include "support/io.h"
#include "support/result.h"
#include "syntax/limits.h"
#include "tools/explain/tables.h"
#include "tools/testing/golden_file.h"

namespace kdl::tools {

namespace {

/// The contents of all golden files, grouped by the kinds of text in which a table row can occur.
struct Shown {
  std::string everything;
  std::string source;  ///< contents of the .kdl files
  std::string ir;      ///< contents of the .kir files and of printed KIR
  std::string words;   ///< the arguments of all command lines, one per line
};

bool IsWordPart(char c) {
  return c == '_' || c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

bool HasWord(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    bool starts = at == 0 || !IsWordPart(text[at - 1]);
    size_t end = at + word.size();
    if (starts && (end == text.size() || !IsWordPart(text[end]))) return true;
  }
  return false;
}

Shown Collect(const std::vector<std::string>& files) {
  Shown shown;
  for (const std::string& path : files) {
    Result<std::string> text = ReadFile(path, syntax::kMaxBytes);
    if (!text.ok()) continue;
    auto golden = ParseGolden(*text, std::filesystem::path(path).filename().string());
    if (!golden.ok() || !*golden) continue;
    const GoldenFile& file = **golden;
    bool is_ir = path.ends_with(".kir");
    shown.everything += *text;
    (is_ir ? shown.ir : shown.source) += CompilerInput(file);
    for (const GoldenSection& section : file.sections) shown.ir += section.text;
    for (const GoldenCommand& command : file.commands) {
      for (const std::string& word : command.words) shown.words += word + "\n";
    }
  }
  return shown;
}

bool OptionShows(const driver::OptionInfo& option, std::string_view words) {
  if (option.golden == "-") return true;
  std::string with_lines = fmt::format("\n{}", words);
  std::string name = fmt::format("\n--{}", option.name);
  for (size_t at = with_lines.find(name); at != std::string::npos;
       at = with_lines.find(name, at + 1)) {
    char next = with_lines[at + name.size()];
    if (next == '\n' || next == '=') return true;
  }
  return option.short_name != 0 &&
         with_lines.find(fmt::format("\n-{}", option.short_name)) != std::string::npos;
}

bool RowShows(const Table& table, const TableRow& row, const Shown& shown) {
  if (table.topic == "diagnostics")
    return shown.everything.find(fmt::format("[{}]", row.name)) != std::string::npos;
  if (table.topic == "ops") return HasWord(shown.ir, row.name);
  if (table.topic == "builtins" || table.topic == "reductions")
    return HasWord(shown.source, row.name);
  if (table.topic == "passes") return HasWord(shown.words, row.name);
  for (const driver::OptionInfo& option : driver::AllOptions()) {
    if (row.name == fmt::format("--{}", option.name)) return OptionShows(option, shown.words);
  }
  return true;
}

}  // namespace

std::string CoverageReport(const std::vector<std::string>& files,
                           const targets::Registry& families) {
  Shown shown = Collect(files);
  std::string text;
  size_t missing = 0;
  size_t all = 0;
  for (const Table& table : AllTables(families)) {
    // The contracts of the library test its kernels and functions.
    if (table.topic == "library" || table.topic == "functions") continue;
    for (const TableRow& row : table.rows) {
      ++all;
      if (RowShows(table, row, shown)) continue;
      ++missing;
      text += fmt::format("{}: {}: no golden file shows it\n", table.topic, row.name);
    }
  }
  for (const driver::OptionInfo& option : driver::AllOptions()) {
    auto names = [&](const std::string& path) { return path.ends_with(option.golden); };
    if (option.golden == "-" || std::any_of(files.begin(), files.end(), names)) continue;
    text += fmt::format("options: --{}: its golden file {} does not exist\n", option.name,
                        option.golden);
  }
  return text + fmt::format("golden files show {} of {} rows\n", all - missing, all);
}

}  // namespace kdl::tools
