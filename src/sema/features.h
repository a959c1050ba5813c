#pragma once

#include <string>
#include <string_view>

#include "sema/diagnostics.h"

namespace kdl::sema {

/// Parts of the language that the compiler reads and does not build yet.
enum class Feature {
#define KDL_FEATURE(feature, text) feature,
#include "sema/features.def"
};

/// The one place where such a part is reported. `what` replaces `{}` in the feature's text.
Diagnostic& ReportUnsupported(DiagnosticEngine& diagnostics, Feature feature, Span span,
                              std::string_view what = {});

}  // namespace kdl::sema
