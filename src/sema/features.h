#pragma once

#include "sema/diagnostics.h"

namespace kdl::sema {

/// Parts of the language that the compiler reads and does not build yet.
enum class Feature {
#define KDL_FEATURE(feature, text) feature,
#include "sema/features.def"
};

/// The one place where such a part is reported.
Diagnostic& ReportUnsupported(DiagnosticEngine& diagnostics, Feature feature, Span span);

}  // namespace kdl::sema
