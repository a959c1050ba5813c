#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"
#include "targets/registry.h"

namespace kdl::tools {

/// Returns the text of a diagnostic with each placeholder replaced by `…`.
std::string WithoutPlaceholders(std::string_view text);

/// Returns `error`, `warning` or `remark`.
std::string_view SeverityName(Severity severity);

/// The diagnostics that one phase of the compiler reports, sorted by number.
struct DiagnosticPhase {
  std::string_view title;
  std::vector<DiagnosticRow> rows;
};
std::vector<DiagnosticPhase> DiagnosticsByPhase();

/// Returns the diagnostics of all phases, sorted by id.
std::vector<DiagnosticRow> AllDiagnostics();

/// A row of one of the compiler's tables. The tables are printed for users and checked by the
/// coverage report.
struct TableRow {
  std::string name;
  std::string text;
};
struct Table {
  std::string_view topic;  ///< such as `ops`
  std::string_view title;
  std::vector<TableRow> rows;
};

/// Returns the tables that `kernelc explain TOPIC` can print. The table of diagnostics is one of
/// them.
std::vector<Table> AllTables(const targets::Registry& families);

}  // namespace kdl::tools
