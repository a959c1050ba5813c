#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"
#include "targets/registry.h"

namespace kdl::tools {

/// The text of a diagnostic with `…` where its arguments stand.
std::string WithoutPlaceholders(std::string_view text);

/// Every diagnostic of every layer, by id.
std::vector<DiagnosticRow> AllDiagnostics();

/// What a table of the compiler lists, for readers and for the coverage report.
struct TableRow {
  std::string name;
  std::string text;
};
struct Table {
  std::string_view topic;  ///< `ops`
  std::string_view title;
  std::vector<TableRow> rows;
};

/// The tables that `kernelc explain TOPIC` prints; diagnostics among them, in this order.
std::vector<Table> AllTables(const targets::Registry& families);

}  // namespace kdl::tools
