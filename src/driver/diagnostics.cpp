#include "driver/diagnostics.h"

#include <algorithm>
#include <memory>

namespace kdl::driver {

int ExitCodeOf(const DiagnosticEngine& diagnostics) {
  if (!diagnostics.has_errors()) return kExitDone;
  auto any_is = [&](std::string_view prefix) {
    const auto& all = diagnostics.all();
    return std::any_of(all.begin(), all.end(), [&](const std::unique_ptr<Diagnostic>& one) {
      return one->severity == Severity::Error && one->id.starts_with(prefix);
    });
  };
  if (any_is("E090") || any_is("E097")) return kExitUsage;
  return any_is("E098") ? kExitEnvironment : kExitInput;
}

}  // namespace kdl::driver
