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

void ReportWhereSizes(const CheckedModule& module, DiagnosticEngine& diagnostics) {
  const syntax::FunctionItem* last = nullptr;
  for (const CheckedFunction* function : module.functions) {
    if (function->item == last) continue;  // one report for all kinds
    last = function->item;
    for (const DimInfo& dim : function->dims) {
      if (dim.param || !dim.where) continue;
      ReportUnsupported(diagnostics, Feature::WhereSizes, dim.entity->span)
          .Help(fmt::format("make '{}' alone a dimension of a parameter", dim.entity->name.text()));
    }
  }
}

}  // namespace kdl::sema
