#include <fmt/format.h>

#include <string>

#include "driver/diagnostics.h"
#include "driver/report.h"
#include "tools/commands.h"

namespace kdl::tools {

int RunTargets(const driver::Options&, const targets::Registry& families) {
  std::string text;
  for (const targets::Family* family : families.families()) {
    for (const targets::TargetKind& kind : family->kinds) {
      text += fmt::format("{:<17}{}", kind.kind, kind.summary);
      if (!kind.keys.empty()) text += fmt::format(" (keys: {})", kind.keys);
      if (!kind.text.empty()) text += fmt::format(" (--emit {} writes what it loads)", kind.text);
      text += '\n';
    }
  }
  text += fmt::format("{:<17}{}\n", "plugin:PATH",
                      "a device that a shared object brings (kdl/device_plugin.h): the code of the "
                      "kind of images that it takes, with the keys of that");
  return driver::PrintOutput(text) ? driver::kExitDone : driver::kExitEnvironment;
}

}  // namespace kdl::tools
