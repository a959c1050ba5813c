#include "passes/diagnostics.h"

namespace kdl::passes {

const std::vector<DiagnosticRow>& DiagnosticRows() {
  static const std::vector<DiagnosticRow> rows = {
#define KDL_DIAGNOSTIC KDL_DIAGNOSTIC_ROW
#include "passes/diagnostics.def"
#define KDL_REMARK(name, id, cycles, args, text, help, explanation) \
  KDL_DIAGNOSTIC_ROW(name, id, Remark, args, text, explanation)
#include "passes/remarks.def"
  };
  return rows;
}

}  // namespace kdl::passes
