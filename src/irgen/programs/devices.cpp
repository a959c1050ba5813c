#include "irgen/programs/devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/check.h"

// Adds devices to a module: all devices of the compiled file, and those devices of imported files that
// programs use, such as `lib::npu`.

namespace kdl::irgen {

namespace {

/// Returns a device spec as text for the runtime. A `select` becomes a list of devices.
std::string SpecText(ir::Module& module, const sema::DeviceSpec& spec) {
  switch (spec.form) {
    case sema::DeviceForm::Promise:
    case sema::DeviceForm::Ranks:  // the driver chooses the device of each rank
      return "";
    case sema::DeviceForm::Fallback:
    case sema::DeviceForm::Alias:
      return fmt::format("@{}", NameOfDevice(module, *spec.of).text());
    case sema::DeviceForm::Target: {
      std::string text = spec.target;
      if (spec.ordinal != 0) text += fmt::format("[{}]", spec.ordinal);
      for (size_t i = 0; i < spec.options.size(); ++i) {
        text += fmt::format("{}{}={}", i == 0 ? '?' : '&', spec.options[i].key.text(),
                            spec.options[i].value);
      }
      return text;
    }
    case sema::DeviceForm::Select: {
      std::string text;
      for (const sema::DeviceSpec& alternative : spec.alternatives) {
        text += (text.empty() ? "" : ",") + SpecText(module, alternative);
      }
      return text;
    }
  }
  KDL_UNREACHABLE();
}

}  // namespace

Name NameOfDevice(ir::Module& module, const sema::Entity& device) {
  Name name = module.context().names.Intern(fmt::format("{}{}", device.prefix, device.name.text()));
  bool known = std::ranges::any_of(module.devices,
                                   [&](const ir::Device& other) { return other.name == name; });
  if (known) return name;
  size_t place = module.devices.size();
  module.devices.push_back({name, ""});  // added before the devices that its spec names
  std::string spec = SpecText(module, device.device);
  module.devices[place].spec = std::move(spec);
  module.devices[place].has_ranks = device.device.form == sema::DeviceForm::Ranks;
  module.devices[place].rank_shape = device.device.shape;
  return name;
}

Name DeviceNameOf(FunctionGen& gen, const sema::Entity* device) {
  if (device == nullptr) device = gen.checked.device;
  if (device != nullptr) return NameOfDevice(gen.module, *device);
  if (gen.checked.item->test == nullptr) return {};
  // In a test, every device of the file represents the device under test.
  auto own = std::ranges::find_if(gen.module.devices, [](const ir::Device& declared) {
    return declared.name.text().find("::") == std::string_view::npos;
  });
  return own == gen.module.devices.end() ? Name() : own->name;
}

}  // namespace kdl::irgen
