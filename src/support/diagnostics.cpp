#include "support/diagnostics.h"

namespace kdl {

Diagnostic& DiagnosticEngine::Add(Diagnostic diagnostic) {
  auto chosen = severities_.find(diagnostic.id);
  if (chosen != severities_.end() && diagnostic.severity == Severity::Warning) {
    if (!chosen->second) return unreported_ = std::move(diagnostic);
    diagnostic.severity = *chosen->second;
  }
  const Span& at = diagnostic.span;
  bool is_new =
      !at.valid() ||
      known_.insert(fmt::format("{} {} {} {}", diagnostic.id, at.file.value, at.begin, at.end))
          .second;
  if (!is_new) return unreported_ = std::move(diagnostic);
  if (diagnostic.severity == Severity::Error) ++error_count_;
  all_.push_back(std::make_unique<Diagnostic>(std::move(diagnostic)));
  return *all_.back();
}

}  // namespace kdl
