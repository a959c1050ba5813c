#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/report.h"
#include "driver/run/devices.h"
#include "support/io.h"
#include "support/json_text.h"
#include "support/near_names.h"
#include "support/source.h"
#include "tools/commands.h"
#include "tools/explain/assembly.h"
#include "tools/explain/communication.h"
#include "tools/explain/decide_targets.h"
#include "tools/explain/examples.h"
#include "tools/explain/language_sections.h"
#include "tools/explain/library_items.h"
#include "tools/explain/perf_report.h"
#include "tools/explain/placement_map.h"
#include "tools/explain/tables.h"
#include "tools/explain/workspace_map.h"
#include "tools/pages.h"
#include "tools/timing/profile.h"
#include "tools/timing/selected_tiles.h"
#include "tools/timing/time_line.h"
#include "tools/tuning/schedule_text.h"

namespace kdl::tools {

namespace {

/// Returns the headline of a diagnostic, such as `E0301: error: unknown name '…'`.
std::string HeadOf(const DiagnosticRow& row) {
  std::string text = WithoutPlaceholders(row.text);
  // The whole message of some diagnostics says what happened at run time.
  std::string_view severity = SeverityName(row.severity);
  return text == "…" ? fmt::format("{}: {}\n", row.id, severity)
                     : fmt::format("{}: {}: {}\n", row.id, severity, text);
}

/// Returns the lines of a program, indented.
std::string Indented(std::string_view program) {
  std::string text = "\n";
  for (char c : program) {
    if (text.ends_with('\n') && c != '\n') text += "    ";
    text += c;
  }
  return text;
}

std::string ExplainDiagnostic(const DiagnosticRow& row) {
  std::string text = fmt::format("{}\n{}\n", HeadOf(row), row.explanation);
  if (const Example* example = FindExample(row.id)) {
    text += fmt::format("\nWrong:\n{}\nRight:\n{}", Indented(example->wrong()),
                        Indented(example->right()));
  }
  return text;
}

/// Adds an entry of a table to the object of --json.
using Entries = nlohmann::ordered_json;

void AddEntry(Entries& entries, const DiagnosticRow& row, std::string_view phase) {
  Entries entry = {{"id", row.id},
                   {"severity", SeverityName(row.severity)},
                   {"phase", phase},
                   {"message", WithoutPlaceholders(row.text)},
                   {"explanation", row.explanation}};
  if (const Example* example = FindExample(row.id)) {
    entry["wrong"] = example->wrong();
    entry["right"] = example->right();
  }
  entries.push_back(std::move(entry));
}

/// Returns what the page about a word lists, as JSON. A word that is not in a table has a text only.
std::string EntriesFor(const std::string& word, bool all, const targets::Registry& families) {
  Entries entries = Entries::array();
  for (const DiagnosticPhase& phase : DiagnosticsByPhase()) {
    for (const DiagnosticRow& row : phase.rows)
      if (all || word == "diagnostics" || row.id == word) AddEntry(entries, row, phase.title);
  }
  for (const Table& table : AllTables(families)) {
    if (all || table.topic == "diagnostics") continue;
    for (const TableRow& row : table.rows) {
      if (table.topic == word || row.name == word)
        entries.push_back({{"name", row.name}, {"topic", table.topic}, {"text", row.text}});
    }
  }
  return JsonText(entries);
}

std::string ListRows(const std::vector<TableRow>& rows) {
  size_t width = 0;
  for (const TableRow& row : rows) width = std::max(width, row.name.size());
  std::string text;
  for (const TableRow& row : rows) text += fmt::format("{:<{}}  {}\n", row.name, width, row.text);
  return text;
}

std::string ListTable(const Table& table) {
  return fmt::format("{}\n\n{}", table.title, ListRows(table.rows));
}

/// Returns the diagnostics of each phase under the phase's title, each with its explanation on the
/// line below.
std::string ExplainAllDiagnostics() {
  std::string text = "Diagnostics, grouped by phase.\n";
  for (const DiagnosticPhase& phase : DiagnosticsByPhase()) {
    text += fmt::format("\n{}\n\n", phase.title);
    for (const DiagnosticRow& row : phase.rows)
      text += fmt::format("{}    {}\n", HeadOf(row), row.explanation);
  }
  return text;
}

/// Returns what a pass requires and why, and what it guarantees. Returns an empty string if there
/// is no such pass.
std::string PassOrderText(const std::string& word, const targets::Registry& families) {
  std::string text;
  for (const passes::Pass* pass : families.passes()) {
    if (pass->name != word) continue;
    for (const passes::Need& need : pass->needs)
      text += fmt::format("  needs {}: {}\n", need.fact->name, need.why);
    for (const passes::Fact* fact : pass->withdraws) text += fmt::format("  ends {}\n", fact->name);
    for (const passes::Fact* fact : pass->gives) text += fmt::format("  gives {}\n", fact->name);
  }
  return text;
}

/// Returns what `explain builtins` lists in addition to the builtins: other expressions with their form, and functions that
/// need an import.
std::string MoreBuiltins(const std::string& topic, const targets::Registry& families) {
  std::string text;
  for (const Table& table : AllTables(families)) {
    bool is_more = table.topic == "reductions" || table.topic == "functions";
    if (topic == "builtins" && is_more) text += "\n" + ListTable(table);
  }
  return text;
}

/// Returns what a file of the standard library contains. Returns an empty string if there is no such file.
std::string ModuleText(const std::string& word) {
  std::vector<TableRow> rows;
  for (LibraryItem& item : LibraryItemsOf(word))
    rows.push_back({std::move(item.name), std::move(item.comment)});
  if (rows.empty()) return "";
  return fmt::format(
      "\n`import {};` makes these available. `kernelc explain NAME` shows the parameters of one "
      "of them.\n\n{}",
      word, ListRows(rows));
}

/// Returns the page about a topic, an op, a pass, a builtin, a word of the language or the id of a diagnostic. Returns an
/// empty string if there is none.
std::string PageFor(const std::string& word, const targets::Registry& families) {
  if (word == "manual") return ManualPage();
  if (word == "completion") return BashCompletion();
  if (word == "language") return LanguagePage();
  std::string page;
  for (const DiagnosticRow& row : AllDiagnostics()) {
    if (row.id == word) page += ExplainDiagnostic(row);
  }
  for (const Table& table : AllTables(families)) {
    if (table.topic == word) return ListTable(table) + MoreBuiltins(word, families);
    if (table.topic == "diagnostics") continue;
    for (const TableRow& row : table.rows) {
      if (row.name == word) page += fmt::format("{} ({}): {}\n", row.name, table.topic, row.text);
    }
  }
  page += LibraryDeclaration(word) + ModuleText(word) + PassOrderText(word, families);
  std::string section = LanguageSection(word);
  if (section.empty()) return page;
  return page.empty() ? section : fmt::format("{}\n{}", page, section);
}

std::string Hint(const std::string& word, const targets::Registry& families) {
  if (word.ends_with(".kdl") || word.ends_with(".kir"))
    return fmt::format(
        "to explain a file, use `kernelc explain --tiles {}`, or --schedule, --workspace, "
        "--placement, "
        "--communication, --copies, --perf or --asm",
        word);
  static constexpr std::string_view kCommands[] = {
#define KDL_COMMAND(kind, name, words, most_files, summary, more) name,
#include "driver/commands.def"
  };
  if (std::ranges::find(kCommands, word) != std::end(kCommands))
    return fmt::format("`kernelc {} --help` explains that command", word);
  std::vector<Table> tables = AllTables(families);
  std::vector<std::string_view> known;
  for (const Table& table : tables) {
    known.push_back(table.topic);
    for (const TableRow& row : table.rows) known.push_back(row.name);
  }
  std::vector<std::string> words = LanguageWords();
  known.insert(known.end(), words.begin(), words.end());
  std::string of_library = "std." + word;
  bool is_of_library = std::ranges::find(known, of_library) != known.end();
  std::string_view nearest = is_of_library ? of_library : NearestName(word, known);
  if (!nearest.empty()) return fmt::format("did you mean `kernelc explain {}`?", nearest);
  if (word.starts_with("std.")) return "`kernelc explain std` lists the files of the library";
  return "`kernelc explain` lists the diagnostics, `kernelc explain --help` the other topics";
}

/// Prints a report. If requested, also writes it as an HTML page.
template <class Report>
void Show(driver::Session& s, const Report& report) {
  s.printed = ReportText(report);
  const std::string& html = s.options.html;
  if (html.empty()) return;
  if (driver::MayWrite({html}, "name another file after --html", s.diagnostics)) {
    driver::WriteOutputFiles({{html, HtmlPage(report)}}, s.diagnostics);
  }
}

/// Writes the picture that --plot names, if it does.
template <class Draw>
void WritePlot(driver::Session& s, Draw draw) {
  const std::string& plot = s.options.plot;
  if (!plot.empty() && driver::MayWrite({plot}, "name another file after --plot", s.diagnostics))
    driver::WriteOutputFiles({{plot, draw()}}, s.diagnostics);
}

/// Reports the workspaces of pipes. Compilation stops once the layout of the pipes is known.
void ExplainWorkspaces(driver::Session& s) {
  driver::Compilation made = DecideTargets(s);
  if (made.ok()) Show(s, MapWorkspaces(s.options.files[0], made));
}

/// Reports the number of bytes that each kernel copies between memories, for targets with explicit
/// copies.
void ExplainCopies(driver::Session& s) {
  driver::Compilation made = DecideTargets(s);
  if (!made.ok()) return;
  for (const driver::TargetCode& one : made.code.targets) {
    auto* copied_bytes = one.target.family->copied_bytes;
    for (const ir::Function* function : one.module->functions()) {
      if (!one.kernels.contains(function->name)) continue;
      s.printed +=
          fmt::format("kernel {} on {}: {}\n", function->name.text(), one.target.spec,
                      copied_bytes ? "block copies move " + copied_bytes(*one.module, *function)
                                   : "no block copies");
    }
  }
}

/// Reports the tile sizes that the selector chooses for each kernel and level, and why.
void ExplainTiles(driver::Session& s) {
  std::optional<std::vector<SelectedTiles>> all = SelectTilesOf(s);
  if (!all) return;
  for (const SelectedTiles& one : *all) {
    if (one.chosen.empty()) {
      s.printed +=
          fmt::format("kernel {} on {}: none of its constants is auto\n", one.kernel, one.level);
      continue;
    }
    s.printed +=
        fmt::format("kernel {} on {}: {}\n", one.kernel, one.level, driver::TilesText(one.chosen));
    std::vector<std::string> names;
    for (const TunedConstant& constant : one.constants) names.push_back(constant.name);
    s.printed += names.empty()
                     ? std::string("  results depend on all of them, so none can be tuned\n")
                     : fmt::format("  no result depends on {}\n", fmt::join(names, ", "));
    s.printed += one.why;
  }
}

/// Reports how each kernel is compiled, and where each decision comes from.
void ExplainSchedule(driver::Session& s) {
  if (std::optional<std::string> text = ScheduleText(s)) s.printed = *text;
}

/// Reports what makes each kernel slow. Compilation stops before code is generated.
void ExplainPerf(driver::Session& s) {
  driver::Compilation made = DecideTargets(s, {}, driver::Until::Loops);
  if (!made.ok()) return;
  PerfReport report = ReportPerf(s, made.code);
  Show(s, report);
  driver::AddJson("remarks", RemarksJson(report));
}

void ExplainPlacement(driver::Session& s) {
  driver::Compilation made = driver::Compile(s, {.until = driver::Until::ModulePasses});
  if (made.ok()) Show(s, MapPlacement(*made.module, s.options.files[0]));
}

void ExplainCommunication(driver::Session& s) {
  std::optional<CommunicationReport> report = ExplainedCommunication(s);
  if (!report) return;
  Show(s, *report);
  driver::AddJson("communication", CommunicationJson(*report));
  WritePlot(s, [&] { return ScalingSvg(report->scaling, report->program, false); });
}

/// Reports the time line of a trace, and draws it if that is requested.
void ExplainTrace(driver::Session& s) {
  const std::string& file = s.options.files[0];
  std::optional<std::string> text = driver::ReadInputFile(file, kMostOfTool, s.diagnostics);
  if (!text) return;
  Result<std::vector<ProfileSpan>> spans = ParseTrace(*text);
  if (!spans.ok()) {
    s.diagnostics.Report(driver::diag::CannotRead, {}, file, spans.failure().message);
    return;
  }
  s.printed = ProfileText(*spans);
  WritePlot(s, [&] { return TimeLineSvg(*spans, fmt::format("Time line of {}", file)); });
}

/// Shows the instructions of kernels next to the source. Only code with debug information has source lines.
int RunAssembly(const driver::Options& options, const targets::Registry& families) {
  driver::Options with_lines = options;
  with_lines.lines = true;
  driver::Session session(with_lines, families);
  std::optional<AssemblyReport> report = ExplainedAssembly(session);
  if (report) Show(session, *report);
  return driver::Finish(session);
}

int RunReport(const driver::Options& options, const targets::Registry& families,
              void (*explain)(driver::Session&)) {
  driver::Session session(options, families);
  explain(session);
  return driver::Finish(session);
}

}  // namespace

int RunExplain(const driver::Options& options, const targets::Registry& families) {
  if (options.workspace) return RunReport(options, families, ExplainWorkspaces);
  if (options.copies) return RunReport(options, families, ExplainCopies);
  if (options.tiles) return RunReport(options, families, ExplainTiles);
  if (options.schedule) return RunReport(options, families, ExplainSchedule);
  if (options.perf) return RunReport(options, families, ExplainPerf);
  if (options.trace) return RunReport(options, families, ExplainTrace);
  if (options.assembly) return RunAssembly(options, families);
  if (options.placement) return RunReport(options, families, ExplainPlacement);
  if (options.communication) return RunReport(options, families, ExplainCommunication);
  std::string word = options.files.empty() ? "diagnostics" : options.files[0];
  std::string page = options.all ? ExplainAllDiagnostics() : PageFor(word, families);
  if (!page.empty()) driver::AddJson("entries", EntriesFor(word, options.all, families));
  if (!page.empty())
    return driver::PrintOutput(page) ? driver::kExitDone : driver::kExitEnvironment;
  DiagnosticEngine diagnostics;
  diagnostics.Report(driver::diag::UnknownTopic, {}, word).Help(Hint(word, families));
  driver::PrintDiagnostics(diagnostics, SourceManager());
  return driver::ExitCodeOf(diagnostics);
}

}  // namespace kdl::tools
