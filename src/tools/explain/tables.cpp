#include "tools/explain/tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "driver/diagnostics.h"
#include "driver/options.h"
#include "driver/warnings.h"
#include "ir/diagnostics.h"
#include "ir/op.h"
#include "ir/op_info.h"
#include "passes/diagnostics.h"
#include "passes/pipelines.h"
#include "sema/diagnostics.h"
#include "sema/model/builtins.h"
#include "support/contains.h"
#include "syntax/diagnostics.h"
#include "targets/family.h"
#include "tools/explain/library_items.h"

namespace kdl::tools {

namespace {

/// Sorts by the digits of the ids. The letter before the digits is the severity, so it is ignored.
void SortByNumber(std::vector<DiagnosticRow>& rows) {
  std::ranges::sort(rows, {}, [](const DiagnosticRow& row) { return row.id.substr(1); });
}

Table DiagnosticsTable() {
  Table table{"diagnostics",
              "Diagnostics. `kernelc explain ID` explains one of them, and "
              "`kernelc explain --all` explains all of them.",
              {}};
  for (const DiagnosticRow& row : AllDiagnostics())
    table.rows.push_back({std::string(row.id), WithoutPlaceholders(row.text)});
  return table;
}

Table OpsTable() {
  Table table{"ops", "Operations of KIR.", {}};
  for (size_t i = 0; i < ir::kOpCount; ++i) {
    const ir::OpInfo& info = ir::Info(static_cast<ir::OpKind>(i));
    table.rows.push_back({std::string(info.spelling), std::string(info.meaning)});
  }
  return table;
}

/// Returns the names of the families that run the pass, such as "cpu, simt"; empty if all of them do.
std::string FamiliesThatRun(const passes::Pass* pass, const targets::Registry& registry) {
  std::vector<std::string_view> names;
  for (const targets::Family* family : registry.families()) {
    auto runs = [&](passes::Pipeline pipeline) { return Contains(pipeline, pass); };
    bool is_common = runs(passes::kModulePipeline) || runs(passes::kProgramPipeline);
    if (is_common || runs(family->tiles) || runs(family->pipes) || runs(family->loops))
      names.push_back(family->name);
  }
  return names.size() == registry.families().size() ? ""
                                                    : fmt::format("{}", fmt::join(names, ", "));
}

Table PassesTable(const targets::Registry& registry) {
  Table table{"passes",
              "Passes, in the order in which they run. Where families of targets are named, only "
              "they run the pass. --print-after and --stop-after accept the names of passes.",
              {}};
  for (const passes::Pass* pass : registry.passes()) {
    std::string families = FamiliesThatRun(pass, registry);
    std::string prefix = families.empty() ? "" : fmt::format("({}) ", families);
    table.rows.push_back({std::string(pass->name), prefix + std::string(pass->summary)});
  }
  return table;
}

Table BuiltinsTable() {
  Table table{"builtins", "Functions and names of the language.", {}};
  for (const sema::Builtin& builtin : sema::AllBuiltins()) {
    table.rows.push_back({std::string(builtin.spelling), std::string(builtin.meaning)});
  }
  return table;
}

Table ReductionsTable() {
  Table table{"reductions", "Reductions and scans over the ranges after `over`.", {}};
  for (const auto& [name, meaning] : std::initializer_list<std::pair<const char*, const char*>>{
           {"sum", "sum(e over k, l): the sum of the elements along the ranges k and l"},
           {"prod", "prod(e over k): the product"},
           {"mean", "mean(e over k): the sum divided by the number of elements"},
           {"max", "max(e over k): the largest element; max(a, b) is a function of two numbers"},
           {"min", "min(e over k): the smallest element; min(a, b) is a function of two numbers"},
           {"any", "any(e over k): whether e is true somewhere"},
           {"all", "all(e over k): whether e is true everywhere"},
           {"argmax", "argmax(e over k): the index of the largest element, as an i64"},
           {"argmin", "argmin(e over k): the index of the smallest element, as an i64"},
           {"dot", "dot(x, y over k): the sum of the products"},
           {"reduce", "reduce(e over k with f init v): combines the elements with the fn f"},
           {"cumsum",
            "cumsum(e over k): the sums of the first element, of the first two, and so on"},
           {"cumprod", "cumprod(e over k): the products so far"},
           {"cummax", "cummax(e over k): the largest elements so far"},
           {"scan", "scan(e over k with f init v): what the fn f has combined so far"}})
    table.rows.push_back({name, meaning});
  return table;
}

void AddItems(Table& table, std::vector<LibraryItem> items) {
  for (LibraryItem& item : items)
    table.rows.push_back({std::move(item.name), std::move(item.comment)});
}

Table LibraryTable() {
  Table table{"library",
              "Kernels of the standard library. `kernelc explain NAME` shows the parameters of one "
              "of them; "
              "`kernelc build std.nn --kernel softmax` compiles one.",
              {}};
  AddItems(table, LibraryKernels());
  return table;
}

Table FunctionsTable() {
  Table table{
      "functions",
      "Functions of the standard library that need an import. `kernelc explain NAME` shows the "
      "parameters of one of them.",
      {}};
  AddItems(table, LibraryFunctions());
  return table;
}

Table ModulesTable() {
  Table table{"std",
              "Files of the standard library. `import std.nn;` imports one, and `kernelc explain "
              "std.nn` lists what it contains.",
              {}};
  AddItems(table, LibraryModules());
  return table;
}

Table OptionsTable() {
  Table table{"options", "Options; `kernelc COMMAND --help` lists those of a command.", {}};
  for (const driver::OptionInfo& option : driver::AllOptions()) {
    table.rows.push_back(
        {fmt::format("--{}", option.name), driver::WithWarningGroups(option.help)});
  }
  return table;
}

}  // namespace

std::string WithoutPlaceholders(std::string_view text) {
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    bool doubled = i + 1 < text.size() && text[i + 1] == text[i];
    if ((text[i] == '{' || text[i] == '}') && doubled) {
      shown += text[i++];
    } else if (text[i] == '{') {
      i = text.find('}', i);
      if (!shown.ends_with("…")) shown += "…";
    } else {
      shown += text[i];
    }
  }
  return shown;
}

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "error";
    case Severity::Warning:
      return "warning";
    case Severity::Remark:
      return "remark";
  }
  return "";
}

std::vector<DiagnosticPhase> DiagnosticsByPhase() {
  std::vector<DiagnosticPhase> phases;
  auto add = [&](std::string_view title, const auto& rows) {
    phases.push_back({title, {std::begin(rows), std::end(rows)}});
    SortByNumber(phases.back().rows);
  };
  add("Syntax", syntax::kDiagnosticRows);
  add("Names, types and shapes", sema::kDiagnosticRows);
  add("KIR text", ir::kDiagnosticRows);
  add("Proofs and passes", passes::DiagnosticRows());
  add("Commands, files and runs", driver::kDiagnosticRows);
  return phases;
}

std::vector<DiagnosticRow> AllDiagnostics() {
  std::vector<DiagnosticRow> all;
  for (const DiagnosticPhase& phase : DiagnosticsByPhase())
    all.insert(all.end(), phase.rows.begin(), phase.rows.end());
  SortByNumber(all);
  return all;
}

std::vector<Table> AllTables(const targets::Registry& families) {
  return {DiagnosticsTable(), OpsTable(),        PassesTable(families),
          BuiltinsTable(),    ReductionsTable(), LibraryTable(),
          FunctionsTable(),   ModulesTable(),    OptionsTable()};
}

}  // namespace kdl::tools
