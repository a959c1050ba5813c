#include "tools/explain/assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "driver/diagnostics.h"
#include "support/text_lines.h"
#include "tools/explain/decide_targets.h"

namespace kdl::tools {

namespace {

/// Returns the words of a directive such as `.loc 0 7 21`.
std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = line.find_first_not_of(" \t"); at < line.size();) {
    size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t", end);
  }
  return words;
}

uint32_t NumberOf(std::string_view word) {
  uint32_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

/// Reads the lines of one function, in order.
class PartsReader {
 public:
  void Read(std::string_view line) {
    std::vector<std::string_view> words = WordsOf(line);
    if (words.empty() || words[0].starts_with('#')) return;
    if (words[0] == ".loc" && words.size() >= 3) {
      if (file_.empty()) file_ = words[1];  // the first location is that of the function itself
      if (uint32_t number = NumberOf(words[2]); words[1] == file_ && number != 0) line_ = number;
    } else if (words[0].ends_with(':')) {
      if (!words[0].starts_with(".Ltmp") && !words[0].starts_with(".Lfunc")) Add(line);
    } else if (!words[0].starts_with('.')) {
      Add(line.substr(1));
    }
  }
  std::vector<AssemblyPart> Take() { return std::move(parts_); }

 private:
  void Add(std::string_view text) {
    if (parts_.empty() || parts_.back().line != line_) parts_.push_back({line_, {}});
    std::string& added = parts_.back().instructions.emplace_back(text);
    std::ranges::replace(added, '\t', ' ');
  }

  std::string_view file_;  ///< the number of the function's file
  uint32_t line_ = 0;
  std::vector<AssemblyPart> parts_;
};

}  // namespace

std::vector<AssemblyPart> PartsOf(std::string_view assembly, std::string_view symbol) {
  std::string quoted = fmt::format("\"{}\":", symbol);
  std::string plain = fmt::format("{}:", symbol);
  PartsReader reader;
  bool is_inside = false;
  for (std::string_view line : TextLines(assembly)) {
    bool begins = line.starts_with(quoted) || line.starts_with(plain);
    if (is_inside && line.starts_with(".Lfunc_end")) break;
    if (is_inside) reader.Read(line);
    is_inside = is_inside || begins;
  }
  return reader.Take();
}

std::optional<AssemblyReport> ExplainedAssembly(driver::Session& s) {
  driver::Emits emits;
  emits.kinds = {driver::Emit::Asm};
  driver::Compilation made = DecideTargets(s, {}, driver::Until::Code, {}, std::move(emits));
  if (!made.ok()) return std::nullopt;
  const std::string& file = s.options.files[0];
  AssemblyReport report{file, {}, {}};
  for (const driver::Part& part : made.code.parts) {
    if (part.compiled.assembly.empty()) {
      s.diagnostics.Report(driver::diag::NoCodeText, {}, part.targets[0]->target.spec, "asm")
          .Help("name a processor with --target, for example host");
      return std::nullopt;
    }
    for (const codegen::KernelCode& code : part.compiled.kernels) {
      Span start = s.sources.FindSpan(code.kernel->loc.file.text(), 1, 1, 1);
      if (report.lines.empty() && start.valid())
        for (std::string_view line : TextLines(s.sources.text(start.file)))
          report.lines.emplace_back(line);
      report.kernels.push_back(
          {code.kernel->name.str(), code.level, PartsOf(part.compiled.assembly, code.entry)});
    }
  }
  return report;
}

std::string ReportText(const AssemblyReport& report) {
  std::string text;
  for (const KernelAssembly& kernel : report.kernels) {
    text +=
        fmt::format("{}kernel {} on {}\n", text.empty() ? "" : "\n", kernel.kernel, kernel.level);
    for (const AssemblyPart& part : kernel.parts) {
      bool is_known = part.line > 0 && part.line <= report.lines.size();
      if (is_known) text += fmt::format("{:>5}  {}\n", part.line, report.lines[part.line - 1]);
      for (const std::string& one : part.instructions)
        text += fmt::format("{:>{}}{}\n", "", one.ends_with(':') ? 8 : 12, one);
    }
  }
  return text;
}

}  // namespace kdl::tools
