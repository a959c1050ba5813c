#include "driver/compile/given_device.h"

#include <string>
#include <string_view>
#include <utility>

#include "passes/analysis/default_device.h"
#include "support/names.h"

namespace kdl::driver {

namespace {

/// Whether the text is NAME=SPEC with this name, and the name could be declared in a file. Other
/// names are reported later, when devices are bound.
bool NamesDevice(std::string_view text, std::string_view name) {
  if (name.empty() || name.size() + 1 >= text.size()) return false;
  bool is_number = name.front() >= '0' && name.front() <= '9';
  return !is_number && CIdentifier(name) == name;
}

}  // namespace

void GiveDevice(ir::Module& module, const Options& options) {
  if (passes::OwnDevices(module) > 0) return;
  for (std::string_view text : options.device) {
    std::string_view name = text.substr(0, text.find('='));
    if (!NamesDevice(text, name)) continue;
    ir::Device device{module.context().names.Intern(name),
                      std::string(text.substr(name.size() + 1)), true};
    module.devices.insert(module.devices.begin(), std::move(device));
    return;
  }
}

}  // namespace kdl::driver
