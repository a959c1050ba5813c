#include "sema/features.h"

#include <fmt/format.h>

namespace kdl::sema {

namespace {

constexpr std::string_view kTexts[] = {
#define KDL_FEATURE(feature, text) text,
#include "sema/features.def"
};

}  // namespace

Diagnostic& ReportUnsupported(DiagnosticEngine& diagnostics, Feature feature, Span span,
                              std::string_view what) {
  std::string_view text = kTexts[static_cast<size_t>(feature)];
  return diagnostics.Report(diag::NotSupported, span, fmt::format(fmt::runtime(text), what));
}

void ReportIgnored(const CheckedModule& module, DiagnosticEngine& diagnostics) {
  const syntax::FunctionItem* last = nullptr;
  for (const CheckedFunction* function : module.functions) {
    if (function->item == last) continue;  // one report for all kinds
    last = function->item;
    std::vector<bool> gives_size(function->where.size());
    for (const DimInfo& dim : function->dims) {
      if (dim.param || !dim.where) continue;
      gives_size[*dim.where] = true;
      ReportUnsupported(diagnostics, Feature::WhereSizes, dim.entity->span)
          .Help(fmt::format("make '{}' alone a dimension of a parameter", dim.entity->name.text()));
    }
    for (size_t i = 0; i < function->where.size(); ++i) {
      if (!gives_size[i]) diagnostics.Report(diag::WhereNotChecked, function->where[i].expr->span);
    }
  }
}

}  // namespace kdl::sema
