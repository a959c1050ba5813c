#include "targets/targets.h"

#include <fmt/format.h>

#include <string>

#include "driver/diagnostics.h"
#include "driver/report.h"
#include "tools/commands.h"

namespace kdl::tools {

int RunTargets(const driver::Options&) {
  std::string text;
  for (const targets::TargetKind& kind : targets::TargetKinds()) {
    text += fmt::format("{:<12}{}", kind.kind, kind.summary);
    text += kind.keys.empty() ? "\n" : fmt::format(" (keys: {})\n", kind.keys);
  }
  return driver::PrintOutput(text) ? driver::kExitDone : driver::kExitEnvironment;
}

}  // namespace kdl::tools
