#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"
#include "targets/registry.h"

namespace kdl::tools {

/// Returns the text of a diagnostic with `…` in place of its arguments.
std::string WithoutPlaceholders(std::string_view text);

/// Returns `error`, `warning` or `remark`.
std::string_view SeverityName(Severity severity);

/// The diagnostics that one phase of the compiler reports, in the order of their numbers.
struct DiagnosticPhase {
  std::string_view title;
  std::vector<DiagnosticRow> rows;
};
std::vector<DiagnosticPhase> DiagnosticsByPhase();

/// Returns the diagnostics of all phases, sorted by id.
std::vector<DiagnosticRow> AllDiagnostics();

/// A table of the compiler, for readers and for the coverage report.
struct TableRow {
  std::string name;
  std::string text;
};
struct Table {
  std::string_view topic;  ///< such as `ops`
  std::string_view title;
  std::vector<TableRow> rows;
};

/// Returns the tables that `kernelc explain TOPIC` prints, in this order. Diagnostics are one of
/// them.
std::vector<Table> AllTables(const targets::Registry& families);

}  // namespace kdl::tools
