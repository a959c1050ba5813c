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

}  // namespace kdl::sema
