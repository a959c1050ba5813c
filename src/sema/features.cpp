#include "sema/features.h"

#include <string_view>

namespace kdl::sema {

namespace {

constexpr std::string_view kTexts[] = {
#define KDL_FEATURE(feature, text) text,
#include "sema/features.def"
};

}  // namespace

Diagnostic& ReportUnsupported(DiagnosticEngine& diagnostics, Feature feature, Span span) {
  return diagnostics.Report(diag::NotSupported, span, kTexts[static_cast<size_t>(feature)]);
}

}  // namespace kdl::sema
