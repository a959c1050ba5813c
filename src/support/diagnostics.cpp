#include "support/diagnostics.h"

namespace kdl {

Diagnostic& DiagnosticEngine::Add(Diagnostic diagnostic) {
  auto chosen = severities_.find(diagnostic.id);
  if (chosen != severities_.end() && diagnostic.severity == Severity::Warning) {
    if (!chosen->second) return unreported_ = std::move(diagnostic);
    diagnostic.severity = *chosen->second;
  }
  for (const auto& known : all_) {
    if (known->span.valid() && known->id == diagnostic.id && known->span == diagnostic.span)
      return unreported_ = std::move(diagnostic);
  }
  if (diagnostic.severity == Severity::Error) ++error_count_;
  all_.push_back(std::make_unique<Diagnostic>(std::move(diagnostic)));
  return *all_.back();
}

}  // namespace kdl
