#include "passes/diagnostics.h"

namespace kdl::passes {

const std::vector<DiagnosticRow>& DiagnosticRows() {
  static const std::vector<DiagnosticRow> rows = {
#define KDL_DIAGNOSTIC KDL_DIAGNOSTIC_ROW
#include "passes/diagnostics.def"
  };
  return rows;
}

}  // namespace kdl::passes
