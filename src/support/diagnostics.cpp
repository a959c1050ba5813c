#include "support/diagnostics.h"

namespace kdl {

Diagnostic& DiagnosticEngine::Add(Diagnostic diagnostic) {
  for (const auto& known : all_) {
    if (known->span.valid() && known->id == diagnostic.id && known->span == diagnostic.span) {
      repeated_ = std::move(diagnostic);
      return repeated_;
    }
  }
  if (diagnostic.severity == Severity::Error) ++error_count_;
  all_.push_back(std::make_unique<Diagnostic>(std::move(diagnostic)));
  return *all_.back();
}

}  // namespace kdl
